import ArgumentParser
import Foundation
import SimulationRecipes
import SyncSimulation

struct ShrinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink", abstract: "Reduce a failing world to a small script with the same failure.")

    @OptionGroup var options: WorldOptions

    @Option(help: ArgumentHelp("File to write the script to. Defaults to standard output.", valueName: "file"))
    var to: String?

    @Option(help: "Maximum number of smaller worlds to try.")
    var budget = 2_000

    func run() throws {
        let script = try options.load()
        Output.note("\(script.size) events")
        var shrinker = Shrinker(
            budget: budget, progress: { Output.note("\($0.size) events, \($0.setting.devices) devices") },
            run: { script in
                do throws(WorldError) {
                    _ = try World(script, parts: .onSQLite()).run()
                    return nil
                } catch {
                    return Shrinker.Failure(error)
                }
            })
        guard let smallest = shrinker.shrink(script) else {
            throw ProgramError(
                message: "this world breaks no invariant: there is nothing to shrink", status: ProgramError.noInput)
        }
        Output.note("\(smallest.size) events after \(shrinker.runs) runs")
        guard let to else { return Output.write(smallest.text) }
        do {
            try Data(smallest.text.utf8).write(to: URL(fileURLWithPath: to), options: .atomic)
        } catch {
            throw ProgramError(message: "\(to) cannot be written: \(error)", status: ProgramError.machine)
        }
    }
}

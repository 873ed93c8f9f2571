import ArgumentParser
import SyncSimulation

struct ExploreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explore", abstract: "Visit every state of a small world of two devices and a server.")

    @Option(help: "Number of writes per device, from 0 to 3.")
    var writes = 1

    @Option(help: "Maximum number of faults, from 0 to 3.")
    var faults = 2

    func validate() throws {
        guard (0...3).contains(writes) else {
            throw ValidationError("--writes \(writes) is not possible; give 0 to 3.")
        }
        guard (0...3).contains(faults) else {
            throw ValidationError("--faults \(faults) is not possible; give 0 to 3.")
        }
    }

    func run() throws {
        let report = Explorer(writes: writes, faults: faults).run { Output.note("\($0) states") }
        Output.write(
            "\(report.states) states, \(report.moves) moves, \(report.rests) states at rest, \(report.isComplete ? "" : "not ")complete"
        )
        if let violation = report.violation {
            throw ProgramError(message: "\(violation)", status: ProgramError.propertyViolation)
        }
    }
}

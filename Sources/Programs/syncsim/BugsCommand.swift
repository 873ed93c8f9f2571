import ArgumentParser
import PlantedBugs
import SyncConcurrency

struct BugsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bugs", abstract: "Plant bugs in worlds, and check that the oracles find each of them.",
        discussion: """
            Each bug is planted in worlds of ascending seeds until an oracle finds it. The world that finds it then runs \
            again without the bug, and must keep every promise.
            """)

    @Argument(help: "The names of bugs. Without names, all bugs are planted, except the rare ones.")
    var names: [String] = []

    @Option(help: "Number of worlds to try for each bug.")
    var worlds: UInt64 = 16

    @Flag(help: "Plant the rare bugs, too, which may take more worlds.")
    var rare = false

    @OptionGroup var workers: Workers

    @Flag(help: "List all bugs, the rare ones marked, without planting them.")
    var list = false

    func validate() throws {
        guard worlds > 0 else { throw ValidationError("--worlds \(worlds) is not possible; give 1 or more.") }
        for name in names where !PlantedBug.all.contains(where: { $0.name == name }) {
            throw ValidationError("'\(name)' is not the name of a planted bug; see syncsim bugs --list.")
        }
    }

    func run() throws {
        if list {
            for bug in PlantedBug.all where names.isEmpty || names.contains(bug.name) {
                Output.write("\(bug.name)\(bug.isRare ? " (rare)" : ""): \(bug.sentence)")
            }
            return
        }
        let bugs = PlantedBug.all.filter { names.isEmpty ? rare || !$0.isRare : names.contains($0.name) }
        let done = Guarded(0)
        let misses = try workers.map(bugs) { bug -> String? in
            let (line, miss): (String, String?)
            do {
                (line, miss) = ("\(try BugHunt(for: bug, worlds: worlds, runsWithoutBug: true).run())", nil)
            } catch {
                (line, miss) = ("\(error)", "\(error)")
            }
            // The lock keeps the numbers in order.
            done.withLock { done in
                done += 1
                Output.note("\(done) of \(bugs.count) bugs: \(line)")
            }
            return miss
        }.compactMap(\.self)
        guard misses.isEmpty else {
            throw ProgramError(
                message: "\(misses.count) of \(bugs.count) bugs were not found as expected:\n"
                    + misses.joined(separator: "\n"),
                status: ProgramError.propertyViolation)
        }
        Output.write("\(bugs.count) planted bugs, all found")
    }
}

import ArgumentParser
import SyncModel
import SyncProgram
import SyncServerRules

struct ConflictsCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List the conflicts of a space, oldest first.",
        discussion: """
            Works while servers run, and changes nothing. Each line has six columns, separated by tabs: the number of the conflict, the version of its commit, the \
            field with its collection and record, the merge rule, the value that was kept, and the value that was \
            lost. Each value is followed by its author. The device that wrote a lost value has it in its journal.
            """)

    @OptionGroup var options: ServerOptions
    @Option(help: "Space whose conflicts are listed.", transform: ServerArgument.space) var space = SpaceID.default
    @Option(parsing: .unconditional, help: "List only the conflicts after this conflict number.") var after: Int64 = 0
    @Option(parsing: .unconditional, help: "Maximum number of conflicts to list.") var limit = 100

    func validate() throws {
        guard limit > 0, limit <= 10_000 else { throw ValidationError("--limit must be 1 to 10000") }
        guard after >= 0 else { throw ValidationError("--after must be 0 or more") }
    }

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let count = try server.conflicts(in: space, after: after, limit: limit) { line in
                try ServerOutput.write("\(line)\n")
            }
            // On standard error, so that a script sees only conflicts.
            if count == 0 {
                ProgramOutput.note("no conflict of the space \(space)\(after > 0 ? " after \(after)" : "") is stored\n")
            }
        }
    }
}

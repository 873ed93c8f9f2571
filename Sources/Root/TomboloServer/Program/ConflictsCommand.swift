import ArgumentParser
import SyncProgram

struct ConflictsCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List the conflicts of a space, oldest first, while the server is stopped.",
        discussion: """
            Each line has these columns, separated by tabs: the number of the conflict, the version of the commit, the \
            record, the field, the merge rule, and both values with their accounts. The devices that wrote the losing \
            values also have them in their journals.
            """)

    @OptionGroup var options: ServerOptions
    @Option(help: "Space to list.") var space = "default"
    @Option(help: "Only list conflicts with greater numbers.") var after: Int64 = 0
    @Option(help: "Maximum number to list.") var limit = 100

    func validate() throws {
        guard limit > 0, limit <= 10_000 else { throw ValidationError("--limit is 1 to 10000") }
        guard after >= 0 else { throw ValidationError("--after is 0 or more") }
    }

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            for line in try server.conflicts(in: space, after: after, limit: limit) {
                try ServerOutput.write("\(line)\n")
            }
        }
    }
}

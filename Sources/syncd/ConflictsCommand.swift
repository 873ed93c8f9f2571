import ArgumentParser
import SyncBootstrap

struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List values that gave way to others, oldest first, while nothing serves them.",
        discussion: """
            Each line has, with tabs between them, the number of the conflict, the version of the commit that met it, the \
            record and the field, the rule that decided, and both values with the accounts that wrote them. The devices that wrote the losing values have \
            them in their journals, too.
            """)

    @OptionGroup var options: ServerOptions
    @Option(help: "The space to list.") var space = "default"
    @Option(help: "Only conflicts with greater numbers.") var after: Int64 = 0
    @Option(help: "At most this many.") var limit = 100

    func validate() throws {
        guard limit > 0, limit <= 10_000 else { throw ValidationError("--limit is 1 to 10000") }
        guard after >= 0 else { throw ValidationError("--after is 0 or more") }
    }

    func run() async throws {
        try options.withServer { server in
            for line in try server.conflicts(in: space, after: after, limit: limit) { try Answer.write("\(line)\n") }
        }
    }
}

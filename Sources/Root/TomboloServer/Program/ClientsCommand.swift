import ArgumentParser
import SyncModel
import SyncProgram
import SyncServerRules

struct ClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients", abstract: "List the clients that have pushed, or release one.",
        subcommands: [ListClients.self, ReleaseClient.self], defaultSubcommand: ListClients.self)
}

struct ListClients: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the clients that have pushed, ordered by client id.",
        discussion: """
            Works while servers run, and changes nothing. Each line has six columns, separated by tabs: the client id, \
            its account, its incarnation, the number of the last transaction that the server has answered, the outcome of \
            that transaction, and the time of its commit. A value is - if there is none: the time, for example, if the \
            transaction changed nothing, or if its commit is no longer in the change feed. A client that only reads is \
            not known. With --json, "replaced" is true for a client that does not count as a device, because its device \
            pushes under another client id now, or because it was released.
            """)

    @OptionGroup var options: ServerOptions
    @Option(
        help: ArgumentHelp("List only the clients after this client id.", valueName: "id"),
        transform: ServerArgument.client)
    var after: ClientID?
    @Option(parsing: .unconditional, help: "Maximum number of clients to list.") var limit = 100
    @Flag(help: "Print one line of JSON for each client.") var json = false

    func validate() throws {
        guard limit > 0, limit <= 10_000 else { throw ValidationError("--limit must be 1 to 10000") }
    }

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let clients = try server.clients(after: after, limit: limit)
            for client in clients {
                let line = json ? TerminalText(json: ClientText.json(client).text) : ClientText.line(client)
                try ServerOutput.write("\(line)\n")
            }
            // On standard error, so that a script sees only clients.
            if clients.isEmpty { ProgramOutput.note("no client\(after.map { " after \($0)" } ?? "") has pushed\n") }
        }
    }
}

struct ReleaseClient: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "release", abstract: "Free the place that a client takes among the devices of its account.",
        discussion: """
            The setting account.devices limits the devices of an account. A released client does not count until it pushes \
            again. Works while servers run.
            """)

    @OptionGroup var options: ServerOptions
    @Argument(help: "Client id, as the list shows it.", transform: ServerArgument.client) var client: ClientID

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let account = try server.release(client)
            try ServerOutput.write(
                "client \(client) does not count as a device of \(account.name) until it pushes again\n",
                after: "client \(client) was released")
        }
    }
}

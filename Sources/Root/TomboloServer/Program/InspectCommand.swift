import ArgumentParser
import LoopbackPage
import SyncProgram
import SyncServerRules

struct InspectCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show the database of the server in a browser.",
        discussion: """
            Prints the address of a page, and serves it until Ctrl-C. The page shows the records of every space, the \
            timeline of commits, conflicts with both values, members, and clients, and follows every change. It changes \
            nothing, and works while servers run, over SQLite and over PostgreSQL.

            Only browsers on this machine can open the page. The part of the address after # is a secret: everyone who \
            has it can read all spaces of all accounts until the command ends. Open the address by hand: other users of \
            this machine can read the arguments of programs. Tokens are not on the page.
            """)

    @OptionGroup var options: ServerOptions
    @Option(parsing: .unconditional, help: "Port of the page on 127.0.0.1. Default: a free one.") var port = 0

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535") }
    }

    func run(_ application: ServerApplication) async throws {
        let server = try options.server(application)
        defer { server.close() }
        let page = try server.page(command: "\(ServerOptions.program.name) inspect")
        let (secret, port) = (PageSecret(server.runtime), port)
        ProgramSignals.endProcess(afterDeadline: server.settings.shutdownDeadline)
        try await ProgramSignals.cancelling {
            do {
                try await PageServer(page, secret: secret).run(port: port) { address in
                    try ServerOutput.write("\(address)\n")
                    // On standard error, so that a script sees only the address.
                    ProgramOutput.note("open this address in a browser of this machine; Ctrl-C ends the page\n")
                }
            } catch is CancellationError {
                // Ctrl-C is the way to end this command.
            } catch let error as PageServerError {
                throw ConfigurationError(
                    error.message, advice: error.advice, mayPass: error.code != .portForbidden)
            }
        }
    }
}

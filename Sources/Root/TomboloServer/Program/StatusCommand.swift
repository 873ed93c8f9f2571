import ArgumentParser
import SyncProgram
import SyncServerRules

struct StatusCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the history, the spaces, and the size of the database.",
        discussion: """
            Works while servers run, and changes nothing. Each space has the version of its newest commit; its horizon, \
            the version after which its change feed has every commit; the number of its records; who has access; and the \
            number of its conflicts. Records are counted one by one, about a million in a second.

            Over SQLite, it also says whether a server runs. A command that writes, such as space set, counts as one \
            while no server runs.
            """)

    @OptionGroup var options: ServerOptions
    @Flag(help: "Print one line of JSON, with all spaces.") var json = false

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let status = try server.status
            guard !json else { return try ServerOutput.write("\(TerminalText(json: status.line.text))\n") }
            for line in status.lines { try ServerOutput.write(line) }
        }
    }
}

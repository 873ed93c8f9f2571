import ArgumentParser
import SyncProgram
import SyncServerRules

struct EpochCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "epoch", abstract: "Show or renew the history of the server.",
        discussion: """
            Restore a backup of the database without the -wal and -shm files of the old one. The server then starts a new \
            history as soon as it detects the restore: by the mark beside the database, or when the first device shows that \
            it has seen more. \(ServerOptions.program.name) epoch renew starts it at once, while the server is stopped. \
            Devices notice at their next contact. They send unconfirmed changes again and compare their records. Each \
            device keeps, in its journal, the values that the server has lost.
            """,
        subcommands: [ShowEpoch.self, RenewEpoch.self], defaultSubcommand: ShowEpoch.self)
}

struct ShowEpoch: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the name of the history, while the server is stopped.")

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in try ServerOutput.write("\(try server.epoch)\n") }
    }
}

struct RenewEpoch: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew", abstract: "Start a new history, after a restore from a backup.")

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let old = try server.epoch
            let new = try server.startNewEpoch()
            try ServerOutput.write("\(new)\n", after: "the history \(old) has ended, and \(new) has begun")
            ProgramOutput.note("ended the history \(old), and began \(new)\n")
        }
    }
}

import ArgumentParser
import SyncBootstrap

struct EpochCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "epoch", abstract: "The server's history: a restored server begins another one.",
        discussion: """
            After the database was put back from a backup, without the -wal and -shm files of the one that was there, \
            the server begins a new history by itself as soon as it finds out: by the mark beside the database, or by what \
            the first device shows that has seen more. syncd epoch renew begins it at once, while the server does not run. \
            Devices notice at their next contact, send again what was not confirmed, compare what they hold, and keep what \
            this server has lost in their journals.
            """,
        subcommands: [ShowEpoch.self, RenewEpoch.self], defaultSubcommand: ShowEpoch.self)
}

struct ShowEpoch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print the name of the history, while nothing serves it.")

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try options.withServer { server in try Answer.write("\(try server.epoch)\n") }
    }
}

struct RenewEpoch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "renew", abstract: "Begin a new history, after a restore from a backup.")

    @OptionGroup var options: ServerOptions

    func run() async throws {
        try options.withServer { server in
            let old = try server.epoch
            let new = try server.startNewEpoch()
            try Answer.write("\(new)\n")
            ProgramOutput.note("the history \(old) has ended, and \(new) has begun\n")
        }
    }
}

import ArgumentParser
import SyncProgram
import SyncServerRules

struct BackupCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy the database into a new file, while the server runs.",
        discussion: """
            The copy has every commit before the command, is checked, and appears under its name when it is durable. It \
            contains the data of all accounts and the key of the history, so only its owner may read it. The server \
            continues to serve; until the copy is made, the WAL grows with each commit. A command that is killed \
            leaves a file whose name ends with .new, and perhaps one that ends with .new-journal.

            To restore it: stop the server; move authority.sqlite, authority.sqlite-wal, and authority.sqlite-shm away; move \
            the backup to authority.sqlite; leave authority.sqlite-mark; start the server. It begins a new history, devices \
            send unconfirmed changes again, and each device keeps, in its journal, what the server has lost.

            With PostgreSQL, use pg_dump.
            """)

    @OptionGroup var options: ServerOptions
    @Flag(help: "Make no backup: check the file, which is an earlier one, and show its contents.") var check = false
    @Argument(help: "File of the backup, in a folder in which only its owner may write.", completion: .file())
    var file: String

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            let report = check ? try server.checkBackup(file) : try server.backUp(to: file)
            for line in report.lines { try ServerOutput.write(line, after: check ? nil : "\(file) was written") }
        }
    }
}

import ArgumentParser
import Glibc
import SyncProgram
import SyncServerRules

struct CompactCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact", abstract: "Give the space of deleted rows back to the file system.",
        discussion: """
            A server reuses the space of the rows that it trims, so its file stays as large as it has ever been. This \
            command writes the file again. It changes no data.

            It works while the server runs: pulls continue, and devices push again afterward. The file becomes shorter \
            after the next commit of the server. Up to twice the size of the data is needed meanwhile, in the folder of \
            the database. If the command fails or is killed, nothing has changed.

            With PostgreSQL, use its command VACUUM FULL.
            """)

    @OptionGroup var options: ServerOptions

    func run(_ application: ServerApplication) async throws {
        try options.withServer(application) { server in
            // SQLite reads the variable once, before it opens the first file. The folder for temporary files of the
            // system may be too small, and the copy has the data of all accounts.
            setenv("SQLITE_TMPDIR", server.settings.folder, 1)
            try ServerOutput.write(try server.compact().line)
        }
    }
}

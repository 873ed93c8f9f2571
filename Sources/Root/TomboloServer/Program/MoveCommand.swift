import ArgumentParser
import SyncProgram
import SyncServerRules

struct MoveCommand: ServerCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move the database to PostgreSQL, or to another folder.",
        discussion: """
            Copies everything, compares the rows of the copy with those of the original, and takes the original out of \
            use, so that no server continues it. Devices continue with the new database as if nothing had happened; they \
            need no command, and they download nothing again.

            Stop the server of a SQLite database first. Servers over PostgreSQL may run: their writes fail during and \
            after the copy, and devices send them again. Tokens and the configuration are not in the database, so they \
            stay where they are.

            If the command is interrupted, repeat it: it recognizes a whole copy. Do not start a server with the target \
            before the command has succeeded.
            """)

    @OptionGroup var options: ServerOptions
    @Option(
        help: ArgumentHelp("Connection string of the PostgreSQL that receives the database.", valueName: "connection"))
    var toPostgres: String?
    @Option(help: ArgumentHelp("Schema in that PostgreSQL.", valueName: "name")) var toSchema: String?
    @Option(
        help: ArgumentHelp("Folder that receives the database, as a SQLite file.", valueName: "folder"),
        completion: .directory)
    var toFolder: String?

    func validate() throws { _ = try target }

    private var target: DatabaseMove.Target {
        get throws {
            switch (toPostgres, toFolder) {
            case (let connection?, nil):
                return .postgres(connection: connection, schema: toSchema ?? ServerKeys().postgresSchema)
            case (nil, let folder?):
                guard toSchema == nil else { throw ValidationError("--to-schema belongs to --to-postgres") }
                return .folder(folder)
            default: throw ValidationError("expected either --to-postgres or --to-folder")
            }
        }
    }

    func run(_ application: ServerApplication) async throws {
        let target = try target
        try options.withServer(application) { server in
            let report = try server.move(to: target) { rows in ProgramOutput.note("copied \(rows) rows\n") }
            for line in report.lines { try ServerOutput.write(line, after: "the database was moved") }
        }
    }
}

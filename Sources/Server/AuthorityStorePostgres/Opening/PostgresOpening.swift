import AuthorityStoreSQL
import Glibc
import Schemas
import SyncAuthority
import SyncModel

/// The steps that turn a connection into a database that can be trusted.
struct PostgresOpening {
    let configuration: PostgresConfiguration
    /// Whether the database receives a copy of another one.
    let forTransfer: Bool

    /// The statement that takes the write lock of this schema until the end of the transaction.
    ///
    /// The first key is "Tmbl" in ASCII, so that the lock differs from the locks of other programs in the same
    /// database.
    var lock: String { "SELECT pg_advisory_xact_lock(\(0x546D_626C), hashtext('\(configuration.schema)'))" }

    /// Checks the encoding and the durability, migrates the schema, and begins a history in a new database.
    func prepare(_ connection: PostgresConnection, newHistory: HistoryIdentity, creating: Bool) throws {
        try checkEncoding(connection)
        try checkDurability(connection)
        try connection.run("BEGIN; \(lock)")
        do {
            try migrate(connection, creating: creating)
            if try !isUnfinished(connection) {
                let isNew = try begin(newHistory, on: connection)
                if isNew, forTransfer { try connection.run("ALTER TABLE server RENAME TO \(Self.unfinishedTable)") }
            }
            try connection.run("COMMIT")
        } catch {
            if !connection.isLost { _ = try? connection.run("ROLLBACK") }
            throw error
        }
    }

    private func checkEncoding(_ connection: PostgresConnection) throws {
        let encoding = try text(connection, "SELECT pg_catalog.current_setting('server_encoding')", [])
        guard encoding == "UTF8" else {
            throw AuthorityStoreError(
                .unstorable,
                "the database has the encoding \(encoding); expected UTF8, as createdb --encoding=UTF8 --template=template0 makes it"
            )
        }
    }

    private func checkDurability(_ connection: PostgresConnection) throws {
        guard configuration.durability == .full else { return }
        for setting in ["fsync", "full_page_writes"] {
            let value = try text(connection, "SELECT current_setting($1)", [.text(setting)])
            guard value == "off" else { continue }
            throw AuthorityStoreError(
                .notDurable, "\(setting) is off in the database; expected on, as full durability needs it")
        }
    }

    /// The name of the table `server` until the database has received its copy.
    static let unfinishedTable = "unfinished_server"

    /// Returns whether the database waits for the copy of another one. Throws if a server opens such a database.
    private func isUnfinished(_ connection: PostgresConnection) throws -> Bool {
        let count = try integer(
            connection, "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2",
            [.text(configuration.schema), .text(Self.unfinishedTable)])
        guard count > 0, !forTransfer else { return count > 0 }
        throw AuthorityStoreError(
            .noDatabase,
            "the move of another database to the schema \(configuration.schema) was interrupted: repeat it, or drop the schema"
        )
    }

    /// Applies the migrations that the schema lacks.
    private func migrate(_ connection: PostgresConnection, creating: Bool) throws {
        let schema = configuration.schema
        let known = AuthorityPostgresSchema.migrations
        let hasSchema = try integer(
            connection, "SELECT count(*) FROM information_schema.schemata WHERE schema_name = $1", [.text(schema)])
        let hasTables = try integer(
            connection, "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1", [.text(schema)])
        // Other programs have a table of migrations, too. Only an authority has all of these.
        let ownTables = try integer(
            connection,
            """
            SELECT count(*) FROM information_schema.tables
            WHERE table_schema = $1
                AND table_name IN ('migration', 'server', '\(Self.unfinishedTable)', 'space', 'uid_counter')
            """, [.text(schema)])
        let movedTables = try integer(
            connection, "SELECT count(*) FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2",
            [.text(schema), .text(StoreTransfer.retiredTable)])
        guard movedTables == 0 else { throw StoreTransfer.movedError("the schema \(schema)") }
        let isOurs = ownTables == 4
        guard isOurs || hasTables == 0 else {
            throw AuthorityStoreError(
                .otherSchema,
                "the schema \(schema) belongs to another program; expected an empty one, or an authority's")
        }
        if !isOurs {
            // Creating an empty schema would hide the loss.
            if let mark = configuration.mark, access(mark, F_OK) == 0 {
                throw AuthorityStoreError(
                    .corrupt,
                    "the schema \(schema) is missing or empty, but \(mark) shows that this server has had data: it is lost, or it is in another database"
                )
            }
            guard creating else {
                throw AuthorityStoreError(.noDatabase, "there is no authority in the schema \(schema)")
            }
            if hasSchema == 0 { try connection.run("CREATE SCHEMA \"\(schema)\"") }
            try connection.run(
                "CREATE TABLE migration (version BIGINT PRIMARY KEY, name TEXT NOT NULL, at TIMESTAMPTZ DEFAULT now())")
        }
        let applied = Int(try integer(connection, "SELECT coalesce(max(version), 0) FROM migration", []))
        guard applied <= known.count else {
            throw AuthorityStoreError(
                .newerSchema,
                "the database has version \(applied) of the schema; this build knows \(known.count): update the server")
        }
        for (index, migration) in known.enumerated().dropFirst(applied) {
            try connection.run(migration.sql)
            _ = try connection.execute(
                "INSERT INTO migration (version, name) VALUES ($1, $2)",
                [.integer(Int64(index + 1)), .text(migration.name)])
        }
    }

    /// Stores the history of a new database.
    ///
    /// - Returns: false when the database has a history already.
    private func begin(_ history: HistoryIdentity, on connection: PostgresConnection) throws -> Bool {
        guard try integer(connection, "SELECT count(*) FROM server", []) == 0 else { return false }
        guard Epoch.isWellFormed(history.epoch.rawValue) else {
            throw AuthorityStoreError(
                .unstorable, "'\(history.epoch)' is not a valid epoch; expected 1 to 64 letters, digits, - and _")
        }
        _ = try connection.execute(
            "INSERT INTO server (singleton, epoch, clock, key) VALUES (1, $1, 0, $2)",
            [.text(history.epoch.rawValue), .blob(history.key.bytes)])
        return true
    }

    private func integer(_ connection: PostgresConnection, _ sql: String, _ values: [StoredValue?]) throws -> Int64 {
        try connection.query(sql, values) { cursor in try cursor.step() ? cursor.integer(0) : 0 }
    }

    private func text(_ connection: PostgresConnection, _ sql: String, _ values: [StoredValue?]) throws -> String {
        try connection.query(sql, values) { cursor in try cursor.step() ? cursor.text(0) : "" }
    }
}

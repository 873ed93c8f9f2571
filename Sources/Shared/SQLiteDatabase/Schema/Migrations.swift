/// The schema of one kind of database: migrations in order, each run once, in its own transaction.
///
/// The number of migrations is the version of the schema. A database records it twice: in its header (`user_version`),
/// and with the names of its migrations in a table. If the two differ, the file is damaged.
///
/// Several processes may open a new database at once: each migration is chosen under the write lock.
package struct Migrations: Sendable {
    package struct Step: Sendable {
        package let name: String
        package let sql: String

        package init(name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    /// The SQLite application id, which marks a file as this kind of database. The `file` command shows it.
    private let applicationID: Int64
    private let steps: [Step]
    /// The kind of database, for messages: "a client's cache".
    private let kind: String

    package init(_ kind: String, applicationID: Int64, _ steps: [Step]) {
        self.kind = kind
        self.applicationID = applicationID
        self.steps = steps
    }

    private static let table = "sync_migration"

    /// Runs the missing migrations.
    ///
    /// - Parameter file: the name of the database in messages.
    /// - Throws: see `check(_:_:)`.
    package func run(on connection: Connection, _ file: String) throws {
        while try check(connection, file) < steps.count {
            try connection.write { connection in
                let version = try version(of: connection, file)
                guard version < steps.count else { return .rollBack(()) }
                if version == 0 {
                    try connection.execute(
                        """
                        CREATE TABLE \(Self.table) (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
                        PRAGMA application_id = \(applicationID);
                        """)
                }
                let step = steps[version]
                try connection.execute(step.sql)
                let record = try connection.prepare("INSERT INTO \(Self.table) (number, name) VALUES (?1, ?2)")
                record.bind(1, Int64(version + 1))
                record.bind(2, step.name)
                try record.run()
                try connection.execute("PRAGMA user_version = \(version + 1)")
                return .commit(())
            }
        }
    }

    /// Throws unless the database is of this kind, or empty, and all of its migrations are known.
    ///
    /// - Returns: the number of migrations that have run.
    /// - Throws: `otherSchema` for a database of another program, `newerSchema` for one of a newer build, and `corrupt`
    ///   when the header or a recorded migration is damaged.
    @discardableResult
    package func check(_ connection: Connection, _ file: String) throws -> Int {
        // Another process may be migrating, so the header and the tables are read in one snapshot.
        try connection.readSnapshot { try version(of: $0, file) }
    }

    /// Does what `check(_:_:)` does, in a transaction of the caller.
    private func version(of connection: Connection, _ file: String) throws -> Int {
        let owner = try connection.integer(of: "PRAGMA application_id")
        let header = try connection.integer(of: "PRAGMA user_version")
        let isEmpty = try connection.integer(of: "SELECT count(*) FROM sqlite_schema") == 0
        if isEmpty, owner == 0, header == 0 { return 0 }
        let names = try recorded(connection)
        guard owner == applicationID else {
            // The header may be damaged. The names of the migrations still tell whose database it is.
            guard names.first == nil || names.first != steps.first?.name else {
                throw DatabaseError(
                    .corrupt,
                    "\(file) is damaged: its header has the application id \(owner); expected \(applicationID)")
            }
            throw DatabaseError(
                .otherSchema,
                "\(file) is not \(kind): it belongs to another program (application id \(owner), expected \(applicationID))"
            )
        }
        guard header == names.count else {
            throw DatabaseError(
                .corrupt,
                "\(file) is damaged: its header has schema version \(header), and its tables have version \(names.count)"
            )
        }
        try checkKnown(names, file)
        guard names.count <= steps.count else {
            throw DatabaseError(
                .newerSchema,
                "\(file) has schema version \(names.count), and this build knows versions up to \(steps.count): use a newer build"
            )
        }
        return names.count
    }

    /// Throws if one of the recorded migrations differs from the known one of its number.
    ///
    /// A newer build has the same first migrations, because a released migration never changes.
    private func checkKnown(_ names: [String], _ file: String) throws(DatabaseError) {
        for (number, (name, step)) in zip(names, steps).enumerated() where name != step.name {
            throw DatabaseError(
                .corrupt,
                "\(file) is damaged: its migration \(number + 1) is called '\(name)'; expected \(step.name)")
        }
    }

    private func recorded(_ connection: Connection) throws -> [String] {
        let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '\(Self.table)'"
        guard try connection.integer(of: tables) == 1 else { return [] }
        return try connection.prepare("SELECT name FROM \(Self.table) ORDER BY number").rows { $0.text(0) }
    }
}

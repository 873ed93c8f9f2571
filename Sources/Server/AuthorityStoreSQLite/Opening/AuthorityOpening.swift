import AuthorityStoreSQL
import SQLiteDatabase
import Schemas
import SyncAuthority
import SyncModel

/// The steps that turn a file into a database that can be trusted.
struct AuthorityOpening: Sendable {
    /// The name of the database in messages.
    let name: String
    let configuration: SQLiteAuthorityConfiguration

    /// The size, in bytes, to which SQLite truncates the WAL when it resets the WAL after a checkpoint: twice the size
    /// at which an automatic checkpoint runs. A backup that takes hours makes the WAL longer.
    private static let keptWALBytes: Int64 = 8 * 1_024 * 1_024

    /// "Tmbl" is the application id of an authority's database.
    private static let migrations = Migrations(
        "an authority's database", applicationID: 0x546D_626C,
        AuthoritySchema.migrations.map { Migrations.Step(name: $0.name, sql: $0.sql) })

    /// The number of pages in the WAL at which a checkpoint is due: SQLite's own default, 4 MB.
    static let checkpointPages = 1_000

    /// Opens the connection that writes, migrates the schema, and begins a history in a new database.
    ///
    /// The connection runs SQLite's automatic checkpoints, directly after its own commits.
    ///
    /// - Parameter files: The files of the database; nil if the caller manages them.
    /// - Throws: `corrupt` when the database is new, although its mark shows that a server has used it.
    func writer(
        to location: String, newHistory: HistoryIdentity, of files: DatabaseFiles? = nil
    ) throws -> Connection {
        let connection = try Connection(opening: location, busyTimeout: configuration.busyTimeout)
        try connection.checkFormat()
        // This comes before any write, so that a database of another program stays unchanged.
        let version = try Self.migrations.check(connection, name)
        if version == 0 { try files?.requireUnused() }
        try requireInUse(connection)
        try connection.harden()
        try connection.limitWAL(bytes: Self.keptWALBytes)
        try connection.useWAL(name)
        try connection.setDurability(configuration.durability == .full ? .powerLoss : .processCrash, of: name)
        // Flush commits that a killed process left in the WAL. If a client received them and a power loss then removed
        // them, the client would hold versions that are later assigned to other commits (I1, I9).
        try connection.write { connection in .rollBack(try connection.rewriteWAL()) }
        try Self.migrations.run(on: connection, name)
        try connection.write { connection in
            try begin(newHistory, on: connection) ? .commit(()) : .rollBack(())
        }
        return connection
    }

    /// Opens a connection for short transactions beside the server that holds the serving lock.
    ///
    /// The server has prepared the database, and checkpoints it. Only when the server has ended meanwhile, and this is
    /// the last connection, does SQLite copy the WAL into the file as the connection closes.
    ///
    /// - Throws: `otherSchema` when the database has an older schema than this build.
    func visitor(to location: String) throws -> Connection {
        let connection = try guest(of: location)
        try connection.useWAL(name)
        try connection.setDurability(configuration.durability == .full ? .powerLoss : .processCrash, of: name)
        return connection
    }

    /// Opens a connection that reads or copies the database beside a server, or without one. It changes nothing:
    /// neither the journal mode of a backup, nor the WAL of a server that was killed.
    ///
    /// - Throws: `otherSchema` when the database has an older schema than this build.
    func reader(of files: DatabaseFiles) throws -> Connection {
        let hasWAL = files.hasWAL
        let connection = try guest(of: DatabaseURI.make(files.path))
        if hasWAL { connection.keepWALOnClose() }
        return connection
    }

    /// Opens a connection beside a server, or without one, which does not set the journal mode. SQLite copies the WAL
    /// into the file if this is the last connection that closes.
    ///
    /// - Throws: `otherSchema` when the database has an older schema than this build.
    func guest(of location: String) throws -> Connection {
        let connection = try Connection(opening: location, busyTimeout: configuration.busyTimeout)
        try connection.checkFormat()
        let version = try Self.migrations.check(connection, name)
        if version == 0 { try DatabaseFiles(path: name).requireUnused() }
        try requireInUse(connection)
        guard version == AuthoritySchema.migrations.count else {
            throw AuthorityStoreError(
                .otherSchema,
                "\(name) has schema version \(version), and this build needs \(AuthoritySchema.migrations.count): start the server of this build first"
            )
        }
        try connection.harden()
        try connection.turnOffCheckpoints()
        return connection
    }

    /// Throws if the history of the database continues elsewhere.
    private func requireInUse(_ connection: Connection) throws {
        guard try !Self.isMoved(connection) else { throw StoreTransfer.movedError(name) }
    }

    /// Returns whether the history of the database continues elsewhere.
    static func isMoved(_ connection: Connection) throws -> Bool {
        let moved = try connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")
        moved.bind(1, StoreTransfer.retiredTable)
        defer { moved.reset() }
        return try moved.step()
    }

    /// Opens a connection that reads, or that checkpoints.
    func reader(of location: String) throws -> Connection {
        let connection = try Connection(opening: location, busyTimeout: configuration.busyTimeout)
        try connection.harden()
        try connection.turnOffCheckpoints()
        return connection
    }

    /// Stores the history of a new database.
    ///
    /// - Returns: false when the database has a history already.
    private func begin(_ history: HistoryIdentity, on connection: Connection) throws -> Bool {
        guard try connection.integer(of: "SELECT count(*) FROM server") == 0 else { return false }
        guard Epoch.isWellFormed(history.epoch.rawValue) else {
            throw AuthorityStoreError(
                .unstorable, "'\(history.epoch)' is not a valid epoch; expected 1 to 64 letters, digits, - and _")
        }
        let insert = try connection.prepare("INSERT INTO server (only, epoch, clock, key) VALUES (1, ?1, 0, ?2)")
        insert.bind(1, history.epoch.rawValue)
        insert.bind(2, blob: history.key.bytes)
        try insert.run()
        return true
    }
}

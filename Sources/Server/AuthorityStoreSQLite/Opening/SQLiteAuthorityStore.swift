import GRDB
public import SyncAuthority
import SyncModel

/// The authority's store on SQLite, with one writer, concurrent readers, and a flush to the disk for every commit.
///
/// One process serves a database; a second one gets `inUse`. As a result, only the one writing connection runs
/// checkpoints, directly after its own commits, and never concurrently with a checkpoint of another connection.
public final class SQLiteAuthorityStore: AuthorityStore {
    let database: any DatabaseWriter
    /// The serving lock, held while the database is open.
    private let lock: ServingLock?
    /// The opened file; nil when the caller manages the files.
    private let file: ServedFile?

    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// - Parameters:
    ///   - newHistory: the history of a new database; unused if the database has one already.
    ///   - creating: whether to create a missing database; if false, a missing database is an error (`noDatabase`).
    public init(
        at path: String, newHistory: HistoryIdentity, creating: Bool = true,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreFailure) {
        let files = AuthorityFiles(path: path)
        try files.prepare(creating: creating)
        lock = try ServingLock(beside: files)
        try files.checkHeader(creating: creating)
        let opening = AuthorityOpening(name: path, configuration: configuration)
        database = try opening.perform("open \(path)") {
            try DatabasePool(path: path, configuration: opening.grdb(isSingle: false))
        }
        try opening.finish(database, newHistory: newHistory)
        file = try ServedFile(at: path)
    }

    /// Opens a database with one connection, for simulations and tests. The caller manages the files and their
    /// permissions.
    ///
    /// - Parameter location: the name that SQLite opens: `:memory:`, or `file:/authority.db?vfs=<name>` for a custom
    ///   VFS.
    public init(
        singleConnectionTo location: String, newHistory: HistoryIdentity,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreFailure) {
        lock = nil
        file = nil
        let opening = AuthorityOpening(name: location, configuration: configuration)
        database = try opening.perform("open \(location)") {
            try DatabaseQueue(path: location, configuration: opening.grdb(isSingle: true))
        }
        try opening.finish(database, newHistory: newHistory)
    }

    /// Closes the database after the current calls have ended. Every later call fails.
    ///
    /// Unless another program reads from the WAL, the database file then holds all data: a copy of that file alone is
    /// complete, and no WAL remains that SQLite could apply to a file that replaces it.
    public func close() throws(AuthorityStoreFailure) {
        // The pool closes its readers last. They cannot write, so SQLite would leave all commits in the WAL.
        if database is DatabasePool { try? database.writeWithoutTransaction(emptyLog) }
        do { try database.close() } catch { throw .wrapping(error, while: "close the database") }
        lock?.release()
    }

    /// Copies the WAL into the database file, and truncates it if no connection reads from it.
    private func emptyLog(_ database: Database) throws {
        let copied = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
        // The columns are: whether it was busy, the pages in the WAL, and how many of them are in the database file.
        guard let copied, copied[0] == 0, copied[1] == copied[2] as Int else { return }
        try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }

    public func read<Result>(
        _ body: (any AuthorityView) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityStoreFailure) -> Result {
        try file?.demandInPlace()
        do {
            guard let single = database as? DatabaseQueue else {
                return try database.read { database in try body(SQLiteTransaction(database: database)) }
            }
            // GRDB would switch the connection to read-only and back, which discards its prepared statements, and would
            // prepare its own statements for each read again. A view cannot write anyway.
            return try single.inDatabase { database in
                try database.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                do {
                    let result = try body(SQLiteTransaction(database: database))
                    try database.cachedStatement(sql: "COMMIT TRANSACTION").execute()
                    return result
                } catch {
                    // After some errors, SQLite has already rolled back. The first error is the one to report.
                    if database.isInsideTransaction { try? database.rollback() }
                    throw error
                }
            }
        } catch {
            throw .wrapping(error, while: "read")
        }
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityStoreFailure) -> Result {
        try file?.demandInPlace()
        do {
            return try database.write { database in try body(SQLiteTransaction(database: database)) }
        } catch {
            throw .wrapping(error, while: "write")
        }
    }
}

import GRDB
public import SyncAuthority
import SyncModel

/// The authority's database on SQLite: one writer, readers beside it, every commit flushed to the disk.
///
/// One process serves one database; a second one is told so (`inUse`). That also keeps checkpoints to the one writing
/// connection, which makes them right after a commit of its own: never beside one of another connection.
public final class SQLiteAuthorityStore: AuthorityStore {
    let database: any DatabaseWriter
    /// Held as long as the database is open.
    private let lock: ServingLock?
    /// The file that was opened; nil where files are the caller's.
    private let file: ServedFile?

    /// Opens the database at `path`, and makes it when it is missing.
    ///
    /// - Parameters:
    ///   - newHistory: the history that begins in a new database; unused when there is one already.
    ///   - creating: whether a missing database is made; otherwise it is a failure (`noDatabase`).
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

    /// Opens a database with one connection, for simulations and tests; files and their permissions are the caller's.
    ///
    /// - Parameter location: what SQLite opens: `:memory:`, or `file:/authority.db?vfs=<name>` for a disk of one's own.
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

    /// Closes the database; every later call fails. Waits for those that are under way.
    ///
    /// The database file then holds everything, unless another program reads from the WAL: a copy of that file alone is whole,
    /// and no WAL is left to be played onto a file that is put in its place.
    public func close() throws(AuthorityStoreFailure) {
        // The pool closes its readers last. They cannot write, so SQLite would leave all commits in the WAL.
        if database is DatabasePool { try? database.writeWithoutTransaction(emptyLog) }
        do { try database.close() } catch { throw .wrapping(error, while: "close the database") }
        lock?.release()
    }

    /// Copies the WAL into the database file, and cuts it where nobody reads from it.
    private func emptyLog(_ database: Database) throws {
        let copied = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
        // Whether it was busy, the pages in the WAL, and how many of them are in the database file.
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
            // GRDB would switch the connection to read-only and back, which throws away its prepared statements, and would
            // prepare the words around each reading again. A view cannot write anyway.
            return try single.inDatabase { database in
                try database.cachedStatement(sql: "BEGIN DEFERRED TRANSACTION").execute()
                do {
                    let result = try body(SQLiteTransaction(database: database))
                    try database.cachedStatement(sql: "COMMIT TRANSACTION").execute()
                    return result
                } catch {
                    // SQLite has rolled back by itself after some errors. The first error is the one to tell.
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

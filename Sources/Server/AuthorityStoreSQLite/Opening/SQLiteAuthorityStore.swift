import AuthorityStoreSQL
import SQLiteDatabase
public import SyncAuthority
import SyncConcurrency
import SyncModel

/// The authority's store on SQLite, with one writer, concurrent readers, and a flush to the disk for every commit.
///
/// One process serves a database; a second one gets `inUse`. As a result, only the one writing connection runs
/// checkpoints, directly after its own commits, and never concurrently with a checkpoint of another connection.
public final class SQLiteAuthorityStore: AuthorityStore {
    let writer: SharedConnection
    /// The connections for readers; nil when one connection does everything.
    private let readers: ReaderPool?
    /// The serving lock, held while the database is open.
    private let lock: Guarded<FileLock?>
    /// The opened file; nil when the caller manages the files.
    private let file: (files: DatabaseFiles, identity: DatabaseFiles.Identity)?

    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// - Parameters:
    ///   - newHistory: the history of a new database; unused if the database has one already.
    ///   - creating: whether to create a missing database; if false, a missing database is an error (`noDatabase`).
    public init(
        at path: String, newHistory: HistoryIdentity, creating: Bool = true,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let opening = AuthorityOpening(name: path, configuration: configuration)
        let uri = DatabaseURI.make(path)
        let (lock, writer, identity) = try AuthorityStoreError.converting("open \(path)") {
            let lock = try files.prepareForServer(creatingIfMissing: creating)
            let writer = SharedConnection(try opening.writer(to: uri, newHistory: newHistory))
            guard let identity = files.identity() else { throw DatabaseError.file("look at", path) }
            return (lock, writer, identity)
        }
        self.lock = Guarded(lock)
        self.writer = writer
        readers = ReaderPool(count: configuration.readers) { try opening.reader(of: uri) }
        file = (files, identity)
    }

    /// Opens a database with one connection, for simulations and tests. The caller manages the files and their
    /// permissions.
    ///
    /// - Parameter location: the name that SQLite opens: `:memory:`, or `file:/authority.db?vfs=<name>` for a custom
    ///   VFS.
    public init(
        singleConnectionTo location: String, newHistory: HistoryIdentity,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        lock = Guarded(nil)
        file = nil
        readers = nil
        let opening = AuthorityOpening(name: location, configuration: configuration)
        writer = try AuthorityStoreError.converting("open \(location)") {
            SharedConnection(try opening.writer(to: location, newHistory: newHistory))
        }
    }

    /// Closes the database after the current calls have ended. Every later call fails.
    ///
    /// Unless another program reads from the WAL, the database file then holds all data: a copy of that file alone is
    /// complete, and no WAL remains that SQLite could apply to a file that replaces it.
    public func close() throws(AuthorityStoreError) {
        if let readers {
            readers.close()
            // If a passive checkpoint does not copy everything at once, another program is reading.
            try? writer.inTurn {
                try writer.use { if try $0.checkpoint(.passive) { try $0.checkpoint(.truncate) } }
            }
        }
        writer.close()
        lock.withLock { $0 = nil }
    }

    public func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try checkFile()
        return try AuthorityStoreError.converting("read") {
            guard let readers else { return try SQLiteSession.read(on: writer, body) }
            return try readers.withConnection { try SQLiteSession.read(on: $0, body) }
        }
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        try checkFile()
        return try AuthorityStoreError.converting("write") { try SQLiteSession.write(on: writer, body) }
    }

    public func check() throws {
        try checkFile()
        let finding = try AuthorityStoreError.converting("check the database") {
            guard let readers else { return try Self.finding(on: writer) }
            return try readers.withConnection { try Self.finding(on: $0) }
        }
        guard finding == "ok" else { throw AuthorityStoreError(.corrupt, "the database is damaged: \(finding)") }
    }

    private static func finding(on connection: SharedConnection) throws -> String {
        try connection.inTurn { try connection.use { try $0.text(of: "PRAGMA quick_check(1)") } }
    }

    /// Throws `missingFile` if the file at the path is no longer the one that was opened.
    ///
    /// SQLite would continue to use a file that a later start does not find. Commits to it would be confirmed and then
    /// lost.
    private func checkFile() throws(AuthorityStoreError) {
        guard let file, file.files.identity() != file.identity else { return }
        throw AuthorityStoreError(
            .missingFile, "\(file.files.path) was moved, deleted, or replaced while it is served: restart the server")
    }
}

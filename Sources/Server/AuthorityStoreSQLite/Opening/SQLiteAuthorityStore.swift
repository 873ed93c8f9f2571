import AuthorityStoreSQL
import SQLiteDatabase
public import SyncAuthority
import SyncConcurrency
import SyncModel

/// The authority's store on SQLite, with one writer, concurrent readers, and a flush to the disk for every commit.
///
/// One process serves a database; a second one gets `inUse`. Only the serving process checkpoints. Another process may
/// commit short transactions meanwhile (`init(visiting:newHistory:configuration:)`), so the serving one holds the write
/// lock during a checkpoint: before version 3.51.3, SQLite can corrupt a database when one connection checkpoints while
/// another commits and restarts the WAL.
public final class SQLiteAuthorityStore: AuthorityStore {
    let writer: SharedConnection
    /// The connections for readers; nil when one connection does everything.
    private let readers: ReaderPool?
    /// The connection that checkpoints while `writer` holds the write lock; nil when `writer` checkpoints by itself, or
    /// when another process serves the database.
    private let checkpointer: SharedConnection?
    /// The serving lock, held while the database is open.
    private let lock: Guarded<FileLock?>
    /// The opened files; nil when the caller manages them.
    private let files: OpenFiles?

    /// Opens the database at `path`, and creates it if it is missing.
    ///
    /// - Parameters:
    ///   - newHistory: the history of a new database; unused if the database has one already.
    ///   - creating: whether to create a missing database; if false, a missing database is an error (`noDatabase`).
    public convenience init(
        at path: String, newHistory: HistoryIdentity, creating: Bool = true,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let lock = try AuthorityStoreError.converting("open \(path)") {
            try files.prepareForServer(creatingIfMissing: creating)
        }
        try self.init(serving: files, lock, newHistory: newHistory, configuration)
    }

    /// Opens an existing database for short transactions, even while another process serves it.
    ///
    /// That process sees the commits with its next transaction. While no process serves the database, this store serves
    /// it, so that a commit is in the database file after `close()`.
    public convenience init(
        visiting path: String, newHistory: HistoryIdentity,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let lock = try AuthorityStoreError.converting("open \(path)") {
            try files.lockForServer(creatingIfMissing: false)
        }
        if let lock {
            try self.init(serving: files, lock, newHistory: newHistory, configuration)
            return
        }
        let opening = AuthorityOpening(name: path, configuration: configuration)
        let (writer, opened) = try AuthorityStoreError.converting("open \(path)") {
            try Self.shared(opening.visitor(to: DatabaseURI.make(path)), files)
        }
        self.init(writer, files: opened)
    }

    /// Opens an existing database for reads, whether or not a process serves it.
    ///
    /// Takes no lock, so that a server can start meanwhile. Every write fails (`readOnly`).
    public convenience init(
        reading path: String, configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let opening = AuthorityOpening(name: path, configuration: configuration)
        let (reader, opened) = try AuthorityStoreError.converting("open \(path)") {
            try files.prepareForReader()
            let connection = try opening.reader(of: files)
            try connection.refuseWrites()
            return try Self.shared(connection, files)
        }
        self.init(reader, files: opened)
    }

    /// Returns whether a process serves the database at `path`. A command that writes to a database that nobody serves
    /// has the serving lock for a moment, too.
    public static func isServed(_ path: String) throws(AuthorityStoreError) -> Bool {
        try AuthorityStoreError.converting("look for a server of \(path)") { try DatabaseFiles(path: path).isServed() }
    }

    private convenience init(
        serving files: DatabaseFiles, _ lock: FileLock, newHistory: HistoryIdentity,
        _ configuration: SQLiteAuthorityConfiguration
    ) throws(AuthorityStoreError) {
        let opening = AuthorityOpening(name: files.path, configuration: configuration)
        let uri = DatabaseURI.make(files.path)
        let (writer, opened) = try AuthorityStoreError.converting("open \(files.path)") {
            let connection = try opening.writer(to: uri, newHistory: newHistory, of: files)
            try connection.takeOverCheckpoints()
            return try Self.shared(connection, files)
        }
        let reader = { @Sendable in
            let connection = try opening.reader(of: uri)
            connection.openFiles = opened
            return connection
        }
        self.init(
            writer, readers: ReaderPool(count: configuration.readers, open: reader),
            checkpointer: SharedConnection(reader), lock: lock, files: opened)
    }

    /// Shares a connection that has read the database, and returns the files that it has open.
    private static func shared(
        _ connection: sending Connection, _ files: DatabaseFiles
    ) throws(DatabaseError) -> (SharedConnection, OpenFiles) {
        let opened = try OpenFiles(files)
        connection.openFiles = opened
        return (SharedConnection(connection), opened)
    }

    private init(
        _ writer: SharedConnection, readers: ReaderPool? = nil, checkpointer: SharedConnection? = nil,
        lock: FileLock? = nil, files: OpenFiles? = nil
    ) {
        self.writer = writer
        self.readers = readers
        self.checkpointer = checkpointer
        self.lock = Guarded(lock)
        self.files = files
    }

    /// Opens a database with one connection, for simulations and tests. The caller manages the files and their
    /// permissions.
    ///
    /// - Parameter location: the name that SQLite opens: `:memory:`, or `file:/authority.db?vfs=<name>` for a custom
    ///   VFS.
    public convenience init(
        singleConnectionTo location: String, newHistory: HistoryIdentity,
        configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let opening = AuthorityOpening(name: location, configuration: configuration)
        self.init(
            try AuthorityStoreError.converting("open \(location)") {
                SharedConnection(try opening.writer(to: location, newHistory: newHistory))
            })
    }

    /// Closes the database after the current calls have ended. Every later call fails.
    ///
    /// Unless another program reads from the WAL, the database file then holds all data: a copy of that file alone is
    /// complete, and no WAL remains that SQLite could apply to a file that replaces it. If another process may have
    /// written into a WAL that has replaced the one of this store, that WAL is left as it is.
    public func close() throws(AuthorityStoreError) {
        readers?.close()
        if files?.replaced != nil {
            // If this fails, SQLite tries again with the last connection.
            try? saveDeletedWAL()
        } else if checkpointer != nil {
            try? writer.inTurn {
                // If a checkpoint does not copy everything at once, another program is reading.
                if try checkpoint() { _ = try writer.use { try $0.checkpoint(.truncate) } }
            }
        }
        checkpointer?.close()
        writer.close()
        lock.withLock { $0 = nil }
    }

    public func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try checkFiles()
        return try namingMove {
            try AuthorityStoreError.converting("read") {
                guard let readers else { return try SQLiteSession.read(on: writer, body) }
                return try readers.withConnection { try SQLiteSession.read(on: $0, body) }
            }
        }
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        try checkFiles()
        let result = try namingMove {
            try AuthorityStoreError.converting("write") { try SQLiteSession.write(on: writer, body) }
        }
        checkpointIfDue()
        return result
    }

    private func namingMove<Result>(_ body: () throws -> Result) throws -> Result {
        try StoreTransfer.namingMove(
            of: files?.files.path ?? "the database",
            isMoved: { try writer.inTurn { try writer.use { try AuthorityOpening.isMoved($0) } } }, body)
    }

    /// Checkpoints the WAL if it has grown long. A failure costs disk space, not data: a later checkpoint makes up for
    /// it.
    private func checkpointIfDue() {
        guard checkpointer != nil, files?.replaced == nil else { return }
        try? writer.inTurn {
            guard try writer.use({ $0.pagesInWAL >= AuthorityOpening.checkpointPages }) else { return }
            try checkpoint()
        }
    }

    /// Copies what can be copied from the WAL into the database file, while no connection can commit. Must be called in
    /// a turn of `writer`.
    ///
    /// - Returns: whether all of the WAL is in the database file now.
    @discardableResult
    func checkpoint() throws -> Bool {
        guard let checkpointer else { return false }
        return try writer.use { writer in
            let isWhole = try writer.write { _ in
                .rollBack(try checkpointer.use { try $0.checkpoint(.passive) })
            }
            writer.forgetPagesInWAL()
            return isWhole
        }
    }

    public func check() throws {
        try checkFiles()
        let finding = try AuthorityStoreError.converting("check the database") {
            guard let readers else { return try Self.finding(on: writer) }
            return try readers.withConnection { try Self.finding(on: $0) }
        }
        guard finding == "ok" else { throw AuthorityStoreError(.corrupt, "the database is damaged: \(finding)") }
    }

    private static func finding(on connection: SharedConnection) throws -> String {
        try connection.inTurn { try connection.use { try $0.text(of: "PRAGMA quick_check(1)") } }
    }

    /// Copies a WAL that was deleted into the database file, unless another process may have written a new one.
    ///
    /// It runs on the writer's connection, because another one would not have the deleted file open.
    private func saveDeletedWAL() throws {
        guard checkpointer != nil, files?.mayHaveForeignWAL == false else { return }
        try writer.inTurn { _ = try writer.use { try $0.checkpoint(.truncate) } }
    }

    /// Throws `missingFile` if a file of the database is no longer the one that was opened.
    ///
    /// SQLite would continue to use a file that a later start does not find. Commits to it would be confirmed and then
    /// lost.
    func checkFiles() throws(AuthorityStoreError) {
        // Closing the last connection deletes the WAL.
        guard let replaced = files?.replaced, !writer.isClosed else { return }
        var advice = "restart the server"
        do {
            try saveDeletedWAL()
        } catch {
            advice = "its last commits could not be saved, so end their reason before you stop the server: \(error)"
        }
        throw AuthorityStoreError(
            .missingFile, "\(replaced) was moved, deleted, or replaced while it is served: \(advice)")
    }
}

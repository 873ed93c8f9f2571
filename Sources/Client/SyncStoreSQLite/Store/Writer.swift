import SQLiteDatabase
import Schemas
import SyncCore
import SyncModel

/// The store's only connection that writes. The calls of several threads can share one of its transactions.
///
/// Not thread-safe: the store's lock protects it.
final class Writer {
    let connection: Connection
    /// The tables of the collections, with the order of their columns.
    private(set) var tables: [RecordTable]
    /// The size in bytes to which SQLite truncates a longer WAL file when the WAL restarts.
    private let keptWALBytes: Int64
    /// The bytes of one WAL frame: a page and its header.
    private let frameBytes: Int64
    /// Whether an fsync makes the whole WAL durable.
    ///
    /// False until the bytes that an earlier process left in the WAL have been rewritten, and false again after a
    /// failed checkpoint.
    private var trustsWAL = false
    private var hasCommitted = false
    /// The pages that the WAL had at the last checkpoint; 0 after it was restarted.
    private var pagesAtCheckpoint = 0
    let cache = WriterCache()
    /// The files of the database; nil with a custom VFS.
    private(set) var files: OpenFiles?
    /// SQLite's number of the schema, which changes when any program adds a table or column.
    private var schemaVersion: Int64 = -1
    /// Whether the WAL file still has to be truncated, because it may hold data of a vacated space. No process
    /// remembers this across a crash, so it starts as true whenever a vacated space exists.
    var needsTruncation = false

    /// The maximum number of frames that the WAL holds after the commit that truncates it.
    private static let truncatedWALFrames: Int64 = 4
    /// Bytes before each page in the WAL (https://sqlite.org/fileformat2.html#walformat).
    private static let frameHeader: Int64 = 24

    /// The fixed tables. "TmbC" is the application id of a client's cache.
    static let migrations = Migrations(
        "a client's cache", applicationID: 0x546D_6243,
        LocalSchema.migrations.map { Migrations.Step(name: $0.name, sql: $0.sql) })

    /// - Parameter newClient: the client id to use if the database is new; nil when it must not be new.
    /// - Throws: `corrupt` when a database that must not be new has no identity.
    init(
        uri: String, configuration: StoreConfiguration, tables: [RecordTable], newClient: ClientID?
    ) throws {
        self.tables = tables
        connection = try Self.open(uri, configuration)
        let version = try Self.migrations.check(connection, configuration.file)
        guard version > 0 || newClient != nil else { throw Self.withoutContents(configuration) }
        try Self.configure(connection, configuration)
        // Without a limit, the WAL file stays as large as one big transaction or one long-lived reader once made it.
        frameBytes = try connection.integer(of: "PRAGMA page_size") + Self.frameHeader
        keptWALBytes = Int64(configuration.limits.keptWALPages) * frameBytes
        try connection.limitWAL(bytes: keptWALBytes)
        try Self.migrations.run(on: connection, configuration.file)
        files = configuration.vfs == nil ? try OpenFiles(DatabaseFiles(path: configuration.file)) : nil
        connection.openFiles = files
        try prepareTables(newClient: newClient, configuration)
        needsTruncation =
            try connection.integer(of: "SELECT EXISTS (SELECT 1 FROM sync_space WHERE has_access = 0)") != 0
    }

    deinit {
        if files?.mayHaveForeignWAL != true, !trustsWAL { prepareClosing() }
    }

    /// Makes sure that SQLite copies only a durable WAL into the database file when the last connection closes.
    ///
    /// A connection that has only read leaves the WAL alone.
    private func prepareClosing() {
        if hasCommitted {
            connection.setBusyTimeout(.zero)
            try? inTransaction { _ in .rollBack(try trustWAL()) }
        }
        if !trustsWAL { connection.keepWALOnClose() }
    }

    // MARK: Opening

    private static func open(_ uri: String, _ configuration: StoreConfiguration) throws -> Connection {
        do {
            let connection = try Connection(opening: uri, busyTimeout: configuration.limits.busyTimeout)
            try connection.checkFormat()
            return connection
        } catch {
            // With a custom VFS, nobody has checked yet that the file exists.
            guard error.code == .cannotOpen, configuration.vfs != nil, !configuration.createsIfMissing else {
                throw error
            }
            throw StoreError(.missingFile, "there is no database at \(configuration.file); \(error)")
        }
    }

    /// Applies the connection's settings, and reads back those that matter for safety.
    private static func configure(_ connection: Connection, _ configuration: StoreConfiguration) throws {
        if configuration.connections == .exclusive { try connection.execute("PRAGMA locking_mode = EXCLUSIVE") }
        try connection.useWAL(configuration.file)
        try connection.setDurability(
            configuration.durability == .full ? .powerLoss : .processCrash, of: configuration.file)
        try connection.harden()
        try connection.takeOverCheckpoints()
        // Before a savepoint changes a page, SQLite copies it, by default into a file in a shared folder.
        try connection.execute("PRAGMA temp_store = MEMORY")
    }

    /// The error for a database without an identity.
    private static func withoutContents(_ configuration: StoreConfiguration) -> StoreError {
        let files = DatabaseFiles(path: configuration.file)
        return files.isBeingCreated ? files.incomplete : .withoutIdentity
    }

    private func prepareTables(newClient: ClientID?, _ configuration: StoreConfiguration) throws {
        var catalog = CatalogMigration(tables: tables, connection: connection)
        // SQLite may just have recovered commits from the WAL of a killed process. These commits are visible, but may
        // not be on the disk. The next power loss could undo rows that the application has already shown or pushed.
        let flushes = configuration.durability == .full
        // In exclusive mode, the lock is taken by the first transaction that writes.
        let writes = flushes || configuration.connections == .exclusive
        // Opening the database to read must not wait for other writers.
        if !writes, try catalog.isDone(), try Meta.load(connection) != nil {
            tables = catalog.tables
            return
        }
        try inTransaction { connection in
            if flushes { try trustWAL() }
            if try Meta.load(connection) == nil {
                guard let newClient else { throw Self.withoutContents(configuration) }
                let fresh = Meta(
                    identity: ClientIdentity(client: newClient, incarnation: 0), nextNumber: .first, epoch: nil,
                    clock: HybridClock(), outbox: OutboxSummary(), journal: JournalTotals())
                try fresh.save(connection)
            }
            try catalog.run(configuration.file)
            return .commit(())
        }
        tables = catalog.tables
    }

    /// Rewrites and flushes the WAL, unless it is known to be durable. Must be called in a transaction that holds the
    /// write lock.
    private func trustWAL() throws {
        guard !trustsWAL else { return }
        try connection.rewriteWAL()
        trustsWAL = true
    }

    /// Writes one page with its existing contents, which is the smallest write that SQLite commits.
    private static func changeNothing(_ connection: Connection) throws {
        let version = try connection.integer(of: "PRAGMA user_version")
        try connection.execute("PRAGMA user_version = \(version)")
    }

    // MARK: Writing

    /// Checks, inside a transaction, that no other program has added collections or fields since this store was opened.
    ///
    /// Otherwise, values of new fields would be stored as unknown ones, and the other program would never see them.
    func checkModels(of file: String) throws {
        let version = try connection.statement("PRAGMA schema_version").first { $0.integer(0) } ?? 0
        guard version != schemaVersion else { return }
        guard try StoredModels.match(tables, in: connection) else { throw StoreError.modelsChanged(file) }
        schemaVersion = version
    }

    /// Carries out calls in one transaction. An error of a call rolls back the changes of that call alone.
    ///
    /// - Parameter begin: makes the state of a call.
    /// - Throws: the error of the only call, or one after which none of the calls has had an effect.
    func carryOut(
        _ calls: [any QueuedWrite], in file: String, _ begin: (Connection) throws -> WriteTransaction
    ) throws {
        try inTransaction { connection in
            try checkModels(of: file)
            if calls.count == 1 {
                return try calls[0].run(in: begin(connection)) ? .commit(()) : .rollBack(())
            }
            var hasChanges = false
            for call in calls {
                let ending = try connection.savepoint { connection in
                    try call.run(in: begin(connection)) ? .commit(true) : .rollBack(false)
                }
                switch ending {
                case .success(true):
                    hasChanges = true
                case .success(false):
                    cache.rolledBackToSavepoint()
                case .failure(let error):
                    cache.rolledBackToSavepoint()
                    call.fail(StoreError(error))
                }
            }
            return hasChanges ? .commit(()) : .rollBack(())
        }
    }

    /// Calls `body` inside `BEGIN IMMEDIATE` and then commits or rolls back, as `body` chooses. An error rolls back.
    func inTransaction<Value>(_ body: (Connection) throws -> Connection.Ending<Value>) throws -> Value {
        var commits = false
        let value: Value
        do {
            value = try connection.write { connection in
                let ending = try body(connection)
                if case .commit = ending { commits = true }
                return ending
            }
        } catch {
            cache.rolledBack()
            throw error
        }
        if commits {
            hasCommitted = true
            cache.committed()
        } else {
            cache.rolledBack()
        }
        return value
    }

    /// Calls `body` with the busy timeout set to zero: an operation that would wait for another program throws `busy`.
    func withoutWaiting<Value>(restoring timeout: Duration, _ body: (Writer) throws -> Value) throws -> Value {
        connection.setBusyTimeout(.zero)
        defer { connection.setBusyTimeout(timeout) }
        return try body(self)
    }

    // MARK: Checkpoints

    /// Whether a checkpoint is due: the WAL had `pages` pages after this connection's last commit, its file is larger
    /// than it may stay, or it has to be truncated.
    func isCheckpointDue(at pages: Int) -> Bool {
        connection.pagesInWAL >= pages || isWALTooLong || needsTruncation
    }

    private var isWALTooLong: Bool {
        connection.walBytes > keptWALBytes
    }

    /// Whether this connection's last commit left at least `pages` pages in the WAL that no checkpoint has seen. Ask
    /// after each commit.
    ///
    /// While a reader uses the WAL, SQLite does not restart it after a checkpoint, so the pages before do not count.
    func hasUnseenPages(_ pages: Int) -> Bool {
        let present = connection.pagesInWAL
        if present < pagesAtCheckpoint { pagesAtCheckpoint = 0 }
        return present - pagesAtCheckpoint >= pages
    }

    /// Checkpoints the WAL through `other` while no connection can commit.
    ///
    /// This connection holds the write lock during the copy, which rules out the race between a commit and a checkpoint
    /// in SQLite before 3.51.3. A WAL file that is too long is truncated by the next commit that restarts it, so this
    /// function then makes such a commit. The truncation does not happen while a reader still uses the WAL.
    func checkpoint(through other: Connection) throws {
        let isWhole = try inTransaction { _ in .rollBack(try copyingWAL { try other.checkpoint(.passive) }) }
        pagesAtCheckpoint = connection.pagesInWAL
        connection.forgetPagesInWAL()
        guard isWhole, isWALTooLong || needsTruncation else { return }
        let truncates = needsTruncation
        if truncates { try connection.limitWAL(bytes: 0) }
        defer { if truncates { try? connection.limitWAL(bytes: keptWALBytes) } }
        try inTransaction { connection in .commit(try Self.changeNothing(connection)) }
        // While a reader still uses the end of the WAL, the commit is appended to it instead of restarting it.
        if truncates, connection.walBytes <= Self.truncatedWALFrames * frameBytes { needsTruncation = false }
    }

    /// Checkpoints and truncates the WAL through this connection alone. With a single connection, nothing can run in
    /// between. The truncation does not happen while another process reads from the WAL for longer than the busy
    /// timeout.
    func checkpointAlone() throws {
        try inTransaction { _ in .rollBack(try trustWAL()) }
        let isTruncated = try copyingWAL { try connection.checkpoint(.truncate) }
        pagesAtCheckpoint = isTruncated ? 0 : connection.pagesInWAL
        connection.forgetPagesInWAL()
        if isTruncated { needsTruncation = false }
    }

    /// Calls `body`, which copies the WAL into the database file, after making the WAL durable. If the copy is cut
    /// short, recovery repeats it from the WAL.
    private func copyingWAL<Value>(_ body: () throws -> Value) throws -> Value {
        try trustWAL()
        trustsWAL = false
        let value = try body()
        trustsWAL = true
        return value
    }
}

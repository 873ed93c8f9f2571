import CSQLiteStore
import GRDB
import GRDBSQLite
import Schemas
import SyncCore
import SyncModel

/// The only connection that writes. GRDB opens and migrates it; after that, cached statements use it directly.
///
/// Not thread-safe: the store's lock protects it.
final class Writer {
    private let queue: DatabaseQueue
    let connection: Connection
    /// The number of pages in the WAL after this connection's last commit, set by SQLite's WAL hook.
    private let logPages: UnsafeMutablePointer<Int32>
    /// Maximum bytes of the WAL file after a restart. Set in `boundLog(to:)`.
    private var keptLogBytes = Int64.max
    /// The bytes of one WAL frame: a page and its header.
    private var frameBytes: Int64 = 0
    /// Whether an fsync makes the whole WAL durable.
    ///
    /// False until the bytes that an earlier process left in the WAL have been rewritten, and false again after a
    /// failed flush.
    private var trustsLog = false
    private var hasCommitted = false
    /// Whether the WAL file still has to be truncated, because it may hold data of a vacated space. No process
    /// remembers this across a crash, so it starts as true whenever a vacated space exists.
    var needsTruncation = false

    /// The maximum number of frames that the WAL holds after the commit that truncates it.
    private static let truncatedLogFrames: Int64 = 4
    /// Bytes before each page in the WAL (https://sqlite.org/fileformat2.html#walformat).
    private static let frameHeader: Int64 = 24
    /// The SQLite application id that marks a file as a client's cache: "TmbC".
    static let applicationID: Int64 = 0x546D_6243

    /// - Parameter newClient: the client id to use if the database is new.
    init(
        uri: String, configuration: StoreConfiguration, tables: [RecordTable], newClient: ClientID
    ) throws(StoreFailure) {
        var settings = GRDB.Configuration()
        settings.busyMode = .timeout(
            Double(configuration.limits.busyTimeout.wholeMilliseconds) / 1_000)
        settings.label = "tombolo.store"
        let queue: DatabaseQueue
        do {
            queue = try DatabaseQueue(path: uri, configuration: settings)
        } catch {
            let failure = StoreFailure.wrapping(error, while: "open the database")
            // With a custom VFS, nobody has checked yet that the file exists.
            guard failure.code == .readOnly, configuration.vfs != nil, !configuration.createsIfMissing else {
                throw failure
            }
            throw StoreFailure(.missingFile, "there is no database at \(configuration.file); \(failure.message)")
        }
        // GRDB owns the connection. Only its address leaves GRDB's queue.
        let address = queue.writeWithoutTransaction { UInt(bitPattern: $0.sqliteConnection) }
        guard let handle = OpaquePointer(bitPattern: address) else {
            throw StoreFailure(.inputOutput, "the database could not be opened: there is no connection")
        }
        self.queue = queue
        connection = Connection(borrowing: handle, tables: tables)
        logPages = .allocate(capacity: 1)
        logPages.initialize(to: 0)

        try checkOwner(configuration.file)
        try configure(configuration)
        try migrate(tables: tables, newClient: newClient, configuration)
        needsTruncation =
            try connection.integer(of: "SELECT EXISTS (SELECT 1 FROM sync_space WHERE has_access = 0)") != 0
    }

    deinit {
        if !trustsLog { prepareClosing() }
        sqlite3_wal_hook(connection.handle, nil, nil)
        connection.close()
        logPages.deallocate()
    }

    /// Makes sure that SQLite copies only a durable WAL into the database file when the last connection closes.
    ///
    /// A connection that has only read leaves the WAL alone.
    private func prepareClosing() {
        if hasCommitted {
            sqlite3_busy_timeout(connection.handle, 0)
            try? inTransaction { _ throws(StoreFailure) in .rollBack(try trustLog()) }
        }
        if !trustsLog { _ = csqlitestore_keep_log_on_close(connection.handle) }
    }

    private static func wrap<Value>(
        _ action: String, _ body: () throws -> Value
    ) throws(StoreFailure) -> Value {
        do { return try body() } catch { throw .wrapping(error, while: action) }
    }

    // MARK: Opening

    private func checkOwner(_ file: String) throws(StoreFailure) {
        let owner = try connection.integer(of: "PRAGMA application_id")
        let isEmpty = try connection.integer(of: "SELECT count(*) FROM sqlite_schema") == 0
        guard owner == Self.applicationID || (owner == 0 && isEmpty) else {
            // The header, which holds the application id, may be damaged. The table names still show whose database it
            // is.
            let isOurs =
                try connection.integer(
                    of: "SELECT count(*) FROM sqlite_schema WHERE name IN ('sync_meta', 'sync_outbox')") == 2
            if isOurs { throw StoreFailure(.corrupt, "\(file) is damaged: its header does not say whose it is") }
            throw StoreFailure(
                .otherSchema,
                "\(file) is a database of another program (application id \(owner), \(Self.applicationID) expected)")
        }
        let version = try connection.integer(of: "PRAGMA user_version")
        let known = Int64(LocalSchema.migrations.count)
        guard version <= known else {
            let steps = try connection.integer(of: "SELECT count(*) FROM grdb_migrations")
            guard steps >= version else {
                throw StoreFailure(
                    .corrupt,
                    "\(file) is damaged: its header has schema version \(version), and its tables have version \(steps)"
                )
            }
            throw StoreFailure(
                .newerSchema,
                "\(file) has schema version \(version), and this build knows versions up to \(known): use a newer build"
            )
        }
    }

    /// Applies the connection's settings, and reads back those that matter for safety.
    private func configure(_ configuration: StoreConfiguration) throws(StoreFailure) {
        // This runs through GRDB because its hooks are still installed: switching to WAL mode is a commit.
        let mode = try Self.wrap("set up the log") {
            try queue.writeWithoutTransaction { db in
                if configuration.connections == .exclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
                try db.execute(sql: "PRAGMA journal_mode = WAL")
                // The mode is read again because SQLite answers "wal" before the change is committed, and silently
                // keeps the rollback journal if that fails. A power loss would then take back acknowledged writes.
                return try String.fetchOne(db, sql: "PRAGMA journal_mode")
            }
        }
        guard mode == "wal" else {
            throw StoreFailure(.inputOutput, "\(configuration.file) cannot have a write-ahead log on this file system")
        }
        let level: Int64 = configuration.durability == .full ? 2 : 1
        try connection.execute("PRAGMA synchronous = \(level)")
        guard try connection.integer(of: "PRAGMA synchronous") == level else {
            throw StoreFailure(.inputOutput, "SQLite did not take the durability \(configuration.durability)")
        }
        try Self.harden(connection)
        try boundLog(to: configuration.limits.keptLogPages)
        // Replaces SQLite's automatic checkpoints, which cause the WAL-reset race.
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logPages)
    }

    /// Limits the size that the WAL file keeps. Without a limit, it stays as large as one big transaction or one
    /// long-lived reader once made it.
    private func boundLog(to pages: Int) throws(StoreFailure) {
        let frame = try connection.integer(of: "PRAGMA page_size") + Self.frameHeader
        frameBytes = frame
        keptLogBytes = Int64(pages) * frame
        try connection.execute("PRAGMA journal_size_limit = \(keptLogBytes)")
    }

    /// Makes a connection refuse operations that only a malicious file would ask for.
    static func harden(_ connection: Connection) throws(StoreFailure) {
        try connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
        let code = csqlitestore_set_defensive(connection.handle)
        guard code == SQLITE_OK else {
            throw .sqlite(code, "SQLITE_DBCONFIG_DEFENSIVE was not taken", while: "set up a connection")
        }
        try connection.execute("PRAGMA wal_autocheckpoint = 0")
    }

    private func migrate(
        tables: [RecordTable], newClient: ClientID, _ configuration: StoreConfiguration
    ) throws(StoreFailure) {
        var migrator = DatabaseMigrator()
        for (index, migration) in LocalSchema.migrations.enumerated() {
            migrator.registerMigration(migration.name) { db in
                try db.execute(sql: migration.sql)
                try db.execute(sql: "PRAGMA user_version = \(index + 1)")
            }
        }
        // This is the first commit, so that a file is recognized as a Tombolo database even if the process is killed
        // during the migrations.
        if try connection.integer(of: "PRAGMA application_id") == 0 {
            try Self.wrap("mark the database") {
                try queue.writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
                }
            }
        }
        try Self.wrap("migrate the database") { [migrator] in try migrator.migrate(queue) }
        takeOverFromGRDB()
        let catalog = CatalogMigration(tables: tables, connection: connection)
        // SQLite may just have recovered commits from the WAL of a killed process. These rows are visible, but may not
        // be on the medium. The next power loss would take back rows that the application has already shown or pushed.
        let flushes = configuration.durability == .full
        // In exclusive mode, the lock is taken by the first transaction that writes.
        let writes = flushes || configuration.connections == .exclusive
        // Opening the database to read must not wait for other writers.
        if !writes, try catalog.isDone(), try Meta.load(connection) != nil { return }
        let identity = ClientIdentity(client: newClient, incarnation: 0)
        let fresh = Meta(
            identity: identity, nextNumber: .first, epoch: nil, clock: HybridClock(), outbox: OutboxSummary(),
            journal: JournalTotals())
        try inTransaction { connection throws(StoreFailure) in
            if flushes { try trustLog() }
            if try Meta.load(connection) == nil { try fresh.save(connection) }
            try catalog.run()
            return .commit(())
        }
    }

    /// Rewrites and flushes the WAL, unless it is known to be durable. Must be called in a transaction that holds the
    /// write lock.
    private func trustLog() throws(StoreFailure) {
        guard !trustsLog else { return }
        let code = csqlitestore_write_log_again(connection.handle)
        guard code == SQLITE_OK else {
            throw .sqlite(code, String(cString: sqlite3_errstr(code)), while: "flush the log")
        }
        trustsLog = true
    }

    /// Writes one page with its existing contents, which is the smallest write that SQLite commits.
    private static func changeNothing(_ connection: Connection) throws(StoreFailure) {
        let version = try connection.integer(of: "PRAGMA user_version")
        try connection.execute("PRAGMA user_version = \(version)")
    }

    /// Removes GRDB's hooks, which expect GRDB to run every statement.
    ///
    /// From here on, statements bypass GRDB, nobody observes changes through it, and the store's lock replaces its
    /// queue.
    private func takeOverFromGRDB() {
        _ = sqlite3_commit_hook(connection.handle, nil, nil)
        _ = sqlite3_rollback_hook(connection.handle, nil, nil)
        _ = sqlite3_update_hook(connection.handle, nil, nil)
        // SQLite calls the authorizer for each column of each statement that it prepares.
        _ = sqlite3_set_authorizer(connection.handle, nil, nil)
    }

    // MARK: Writing

    /// The way a transaction ends when its body does not throw.
    enum Ending<Value> {
        case commit(Value)
        case rollBack(Value)
    }

    /// Calls `body` inside `BEGIN IMMEDIATE` and then commits or rolls back, as `body` chooses. An error rolls back.
    func inTransaction<Value>(
        _ body: (Connection) throws(StoreFailure) -> Ending<Value>
    ) throws(StoreFailure) -> Value {
        try connection.statement("BEGIN IMMEDIATE").run()
        do throws(StoreFailure) {
            switch try body(connection) {
            case .commit(let value):
                try connection.statement("COMMIT").run()
                hasCommitted = true
                return value
            case .rollBack(let value):
                try connection.statement("ROLLBACK").run()
                return value
            }
        } catch {
            // After some errors, SQLite has already rolled back.
            if sqlite3_get_autocommit(connection.handle) == 0 { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Calls `body` with the busy timeout set to zero: an operation that would wait for another program throws `busy`.
    func withoutWaiting<Value>(
        restoring timeout: Duration, _ body: (Writer) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        sqlite3_busy_timeout(connection.handle, 0)
        defer { sqlite3_busy_timeout(connection.handle, Int32(clamping: timeout.wholeMilliseconds)) }
        return try body(self)
    }

    /// Calls `body` with the connection, outside a transaction.
    func outsideTransaction<Value>(
        _ body: (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try body(connection)
    }

    // MARK: Checkpoints

    /// Whether a checkpoint is due: the WAL had `pages` pages after this connection's last commit, its file is larger
    /// than it may stay, or it has to be truncated.
    func isCheckpointDue(at pages: Int) -> Bool {
        Int(logPages.pointee) >= pages || isLogTooLong || needsTruncation
    }

    private var isLogTooLong: Bool {
        csqlitestore_log_size(connection.handle) > keptLogBytes
    }

    /// Checkpoints the WAL through `other` while no connection can commit.
    ///
    /// This connection holds the write lock during the copy, which rules out the race between a commit and a checkpoint
    /// in SQLite before 3.51.3. A WAL file that is too long is truncated by the next commit that restarts it, so this
    /// function then makes such a commit. The truncation does not happen while a reader still uses the WAL.
    func checkpoint(through other: Connection) throws(StoreFailure) {
        let isWhole = try inTransaction { _ throws(StoreFailure) in
            .rollBack(
                try copyingLog { () throws(StoreFailure) in
                    let copy = try other.statement("PRAGMA wal_checkpoint(PASSIVE)")
                    defer { copy.reset() }
                    // The columns are: whether the checkpoint was blocked, the pages in the WAL, and the pages that the
                    // database file now has.
                    return try copy.step() && copy.integer(0) == 0 && copy.integer(1) == copy.integer(2)
                })
        }
        logPages.pointee = 0
        guard isWhole, isLogTooLong || needsTruncation else { return }
        let cuts = needsTruncation
        if cuts { try connection.execute("PRAGMA journal_size_limit = 0") }
        defer { if cuts { try? connection.execute("PRAGMA journal_size_limit = \(keptLogBytes)") } }
        try inTransaction { connection throws(StoreFailure) in .commit(try Self.changeNothing(connection)) }
        // While a reader still uses the end of the WAL, the commit is appended to it instead of restarting it.
        if cuts, csqlitestore_log_size(connection.handle) <= Self.truncatedLogFrames * frameBytes {
            needsTruncation = false
        }
    }

    /// Checkpoints and truncates the WAL through this connection alone. With a single connection, nothing can run in
    /// between.
    func checkpointAlone() throws(StoreFailure) {
        try inTransaction { _ throws(StoreFailure) in .rollBack(try trustLog()) }
        try copyingLog { () throws(StoreFailure) in try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        logPages.pointee = 0
        needsTruncation = false
    }

    /// Calls `body`, which copies the WAL into the database file, after making the WAL durable. If the copy is cut
    /// short, recovery repeats it from the WAL.
    private func copyingLog<Value>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        try trustLog()
        trustsLog = false
        let value = try body()
        trustsLog = true
        return value
    }
}

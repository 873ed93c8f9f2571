import CSQLiteStore
import GRDB
import GRDBSQLite
import Schemas
import SyncCore
import SyncModel

/// The one connection that writes: opened and migrated by GRDB, then used through kept statements.
///
/// Not thread-safe: it lives behind the store's lock.
final class Writer {
    private let queue: DatabaseQueue
    let connection: Connection
    /// Pages in the log after this connection's last commit, told by SQLite.
    private let logPages: UnsafeMutablePointer<Int32>
    /// The bytes that the file of the log may keep; set with the other settings.
    private var keptLogBytes = Int64.max
    /// Of a page in the log, with what stands before it.
    private var frameBytes: Int64 = 0
    /// Whether a flush makes the whole log durable: not before what an earlier process left in it was written again, and not
    /// after a flush that failed.
    private var trustsLog = false
    private var hasCommitted = false
    /// Whether what a vacated space has left in the log's file is still to be cut off. After a crash nobody remembers, so it
    /// begins with whether there is such a space.
    var needsTruncation = false

    /// The most frames that the commit which cuts a log leaves in it.
    private static let truncatedLogFrames: Int64 = 4
    /// Bytes before each page in the log (https://sqlite.org/fileformat2.html#walformat).
    private static let frameHeader: Int64 = 24
    /// Marks a file as a client's cache: "TmbC".
    static let applicationID: Int64 = 0x546D_6243

    /// - Parameter newClient: who this is, should the database be new.
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
            // On a VFS nobody has looked whether the file is there.
            guard failure.code == .readOnly, configuration.vfs != nil, !configuration.createsIfMissing else {
                throw failure
            }
            throw StoreFailure(.missingFile, "there is no database at \(configuration.file); \(failure.message)")
        }
        // GRDB owns the connection; its address is all that is taken out of GRDB's queue.
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

    /// SQLite copies the log into the database file when the last connection is closed. Who has only looked leaves it alone.
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
            // The marks are in the header, which may be damaged; the tables tell who made them.
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

    /// Settings of the connection; those that matter for safety are read back.
    private func configure(_ configuration: StoreConfiguration) throws(StoreFailure) {
        // Through GRDB, for as long as its hooks are in place: going over to a log is a commit.
        let mode = try Self.wrap("set up the log") {
            try queue.writeWithoutTransaction { db in
                if configuration.connections == .exclusive { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
                try db.execute(sql: "PRAGMA journal_mode = WAL")
                // Asked again: SQLite says "wal" before the change is committed, and keeps the rollback journal
                // without a word when that fails. A power loss would then take back what was acknowledged.
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
        // Replaces the automatic checkpoints, which are the cause of the WAL-reset race.
        sqlite3_wal_hook(
            connection.handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, logPages)
    }

    /// Otherwise the file would keep the largest size that one transaction, or a reader that stayed, ever gave it.
    private func boundLog(to pages: Int) throws(StoreFailure) {
        let frame = try connection.integer(of: "PRAGMA page_size") + Self.frameHeader
        frameBytes = frame
        keptLogBytes = Int64(pages) * frame
        try connection.execute("PRAGMA journal_size_limit = \(keptLogBytes)")
    }

    /// Makes a connection refuse what only a hostile file would ask.
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
        // First of all, and by itself: a file in which the migrator was killed is still told to be ours.
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
        // Rows that SQLite has just recovered from the log of a process that was killed over a commit are visible, but perhaps not
        // on the medium. What is shown, and pushed, would be taken back by the next loss of power.
        let flushes = configuration.durability == .full
        // An exclusive lock is taken with the first transaction that writes.
        let writes = flushes || configuration.connections == .exclusive
        // A reader must not wait for the turn of those who write.
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

    /// Called in a transaction that holds the write lock.
    private func trustLog() throws(StoreFailure) {
        guard !trustsLog else { return }
        let code = csqlitestore_write_log_again(connection.handle)
        guard code == SQLITE_OK else {
            throw .sqlite(code, String(cString: sqlite3_errstr(code)), while: "flush the log")
        }
        trustsLog = true
    }

    /// The smallest thing that makes a transaction one that writes: one page, as it was.
    private static func changeNothing(_ connection: Connection) throws(StoreFailure) {
        let version = try connection.integer(of: "PRAGMA user_version")
        try connection.execute("PRAGMA user_version = \(version)")
    }

    /// GRDB's hooks expect every statement to be its own. From here on ours go past it, nobody observes through it, and
    /// the store's lock takes the place of its queue.
    private func takeOverFromGRDB() {
        _ = sqlite3_commit_hook(connection.handle, nil, nil)
        _ = sqlite3_rollback_hook(connection.handle, nil, nil)
        _ = sqlite3_update_hook(connection.handle, nil, nil)
        // It is asked for each column of each statement that is prepared.
        _ = sqlite3_set_authorizer(connection.handle, nil, nil)
    }

    // MARK: Writing

    /// How a transaction ends that did not fail.
    enum Ending<Value> {
        case commit(Value)
        case rollBack(Value)
    }

    /// Calls `body` between `BEGIN IMMEDIATE` and the end that it chooses; an error rolls back.
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
            // SQLite has rolled back by itself after some errors.
            if sqlite3_get_autocommit(connection.handle) == 0 { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// Calls `body` while this connection does not wait for other programs: what would wait throws `busy`.
    func withoutWaiting<Value>(
        restoring timeout: Duration, _ body: (Writer) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        sqlite3_busy_timeout(connection.handle, 0)
        defer { sqlite3_busy_timeout(connection.handle, Int32(clamping: timeout.wholeMilliseconds)) }
        return try body(self)
    }

    /// Calls `body` on the connection outside of a transaction.
    func outsideTransaction<Value>(
        _ body: (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try body(connection)
    }

    // MARK: Checkpoints

    /// Whether the log has grown to `pages`, as of this connection's last commit, or by whatever commits beyond what its file
    /// may keep.
    func isCheckpointDue(at pages: Int) -> Bool {
        Int(logPages.pointee) >= pages || isLogTooLong || needsTruncation
    }

    private var isLogTooLong: Bool {
        csqlitestore_log_size(connection.handle) > keptLogBytes
    }

    /// Copies the log into the database file while no connection can commit, so that the race between a commit and a
    /// checkpoint in SQLite before 3.51.3 cannot happen: this connection holds the write lock, `other` copies.
    ///
    /// A file that is too long is cut by the commit that uses it again from its beginning: one is made here, unless somebody
    /// still reads from the log.
    func checkpoint(through other: Connection) throws(StoreFailure) {
        let isWhole = try inTransaction { _ throws(StoreFailure) in
            .rollBack(
                try copyingLog { () throws(StoreFailure) in
                    let copy = try other.statement("PRAGMA wal_checkpoint(PASSIVE)")
                    defer { copy.reset() }
                    // Whether it was busy, the pages in the log, and how many of them the database has.
                    return try copy.step() && copy.integer(0) == 0 && copy.integer(1) == copy.integer(2)
                })
        }
        logPages.pointee = 0
        guard isWhole, isLogTooLong || needsTruncation else { return }
        let cuts = needsTruncation
        if cuts { try connection.execute("PRAGMA journal_size_limit = 0") }
        defer { if cuts { try? connection.execute("PRAGMA journal_size_limit = \(keptLogBytes)") } }
        try inTransaction { connection throws(StoreFailure) in .commit(try Self.changeNothing(connection)) }
        // A reader that still reads from its end keeps the log: then the commit stands behind what is in it.
        if cuts, csqlitestore_log_size(connection.handle) <= Self.truncatedLogFrames * frameBytes {
            needsTruncation = false
        }
    }

    /// The same with one connection only, which nothing can interrupt.
    func checkpointAlone() throws(StoreFailure) {
        try inTransaction { _ throws(StoreFailure) in .rollBack(try trustLog()) }
        try copyingLog { () throws(StoreFailure) in try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
        logPages.pointee = 0
        needsTruncation = false
    }

    /// Calls what copies the log into the database file, once the log is durable: a copy that is cut short is fixed from it.
    private func copyingLog<Value>(_ body: () throws(StoreFailure) -> Value) throws(StoreFailure) -> Value {
        try trustLog()
        trustsLog = false
        let value = try body()
        trustsLog = true
        return value
    }
}

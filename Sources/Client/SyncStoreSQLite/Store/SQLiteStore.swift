import Schemas
public import SyncConcurrency
public import SyncCore
public import SyncModel

/// A client's local cache in one SQLite file: the records as reads return them, their bases, the outbox, the journal.
///
/// Every call is synchronous and one transaction. Writers wait for each other; readers wait for nobody. Safe to call
/// from any thread and beside other processes on the same file.
public final class SQLiteStore: Sendable {
    public let catalog: SchemaCatalog
    public let changes = Broadcast<StoreChange>()
    public let configuration: StoreConfiguration

    /// The version of the fixed tables that this build makes and migrates to.
    public static var schemaVersion: Int { LocalSchema.migrations.count }

    let tables: [RecordTable]
    /// The address of the database, for connections after the first.
    let uri: String
    let files: DatabaseFiles
    private let writer: Guarded<WriterState>
    /// Nil when one connection does everything.
    private let readers: ReadConnections?
    /// The file that was opened; nil on a VFS of its own.
    private let identity: DatabaseFiles.Identity?

    private struct WriterState {
        /// Nil once closed.
        var writer: Writer?
    }

    private init(
        writer: sending Writer, configuration: StoreConfiguration, catalog: SchemaCatalog, tables: [RecordTable]
    ) {
        self.configuration = configuration
        self.catalog = catalog
        self.tables = tables
        uri = URIText.make(configuration, creating: false)
        files = DatabaseFiles(path: configuration.file)
        let identity = configuration.vfs == nil ? files.identity() : nil
        self.identity = identity
        switch configuration.connections {
        case .pool(let count):
            readers = ReadConnections(
                count: count, uri: uri, tables: tables, busyTimeout: configuration.limits.busyTimeout
            ) { [files] () throws(StoreFailure) in
                guard identity == nil || files.identity() == identity else { throw .replaced(configuration.file) }
            }
        case .single, .exclusive:
            readers = nil
        }
        self.writer = Guarded(WriterState(writer: writer))
    }

    /// Opens the database, makes or migrates it, and checks that it is one of ours.
    ///
    /// - Parameters:
    ///   - now: the wall clock, for the identity of a new database.
    ///   - random: for the identity of a new database.
    /// - Throws: what is wrong with the file, its folder or its schema; nothing is changed then.
    public static func open(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, now: WallTime,
        random: inout some RandomNumberGenerator
    ) throws(StoreFailure) -> SQLiteStore {
        let tables = RecordTable.all(of: catalog)
        let files = DatabaseFiles(path: configuration.file)
        let uri = URIText.make(configuration, creating: configuration.createsIfMissing)
        let newClient = ClientID.make(at: now, random: &random)
        if configuration.vfs != nil {
            let writer = try Writer(
                uri: uri, configuration: configuration, tables: tables, newClient: newClient)
            return SQLiteStore(writer: writer, configuration: configuration, catalog: catalog, tables: tables)
        }
        try files.prepare(creatingIfMissing: configuration.createsIfMissing)
        try files.checkWritable()
        // Two processes that make or migrate one file at once would meet half-made tables.
        let patience = configuration.limits.busyTimeout
        guard let lock = try FileLock(locking: files.openLock, within: patience) else {
            throw StoreFailure(
                .busy, "another program has been opening the database for \(patience): \(files.openLock)")
        }
        defer { withExtendedLifetime(lock) {} }
        if configuration.createsIfMissing { try files.createIfMissing() }
        try files.checkSize(creatingIfMissing: configuration.createsIfMissing)
        let writer = try Writer(
            uri: uri, configuration: configuration, tables: tables, newClient: newClient)
        files.created()
        return SQLiteStore(writer: writer, configuration: configuration, catalog: catalog, tables: tables)
    }

    /// Closes all connections and ends the feed of changes. Later calls throw.
    public func close() {
        readers?.close()
        writer.withLock { $0.writer = nil }
        // Last: a task that waits for news looks into the store once more when they end, and must find it closed.
        changes.finish()
    }

    // MARK: Plumbing

    /// Runs a call that changes something; its news is told once it is durable.
    func write<Value: Sendable>(
        _ body: @Sendable (WriteTransaction) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try checkFileIsThere()
        let (value, change) = try writer.withLock { state throws(StoreFailure) in
            let writer = try Self.open(state)
            return try Self.run(body, on: writer, catalog, tables, configuration.limits)
        }
        if !change.isEmpty { changes.publish(change) }
        return value
    }

    private static func run<Value: Sendable>(
        _ body: @Sendable (WriteTransaction) throws(StoreFailure) -> Value, on writer: Writer,
        _ catalog: SchemaCatalog, _ tables: [RecordTable], _ limits: StoreLimits
    ) throws(StoreFailure) -> (Value, StoreChange) {
        try writer.inTransaction { connection throws(StoreFailure) in
            let transaction = try WriteTransaction(on: connection, catalog: catalog, tables: tables, limits: limits)
            let value = try body(transaction)
            if transaction.rollsBack { return .rollBack((value, StoreChange())) }
            try transaction.finish()
            return .commit((value, transaction.change))
        }
    }

    /// Runs a call that changes nothing that anybody observes, and that can wait until another time: when another
    /// program writes, it throws `busy` at once.
    func writeUnlessBusy<Value: Sendable>(
        _ body: @Sendable (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        try checkFileIsThere()
        return try writer.withLock { [timeout = configuration.limits.busyTimeout] state throws(StoreFailure) in
            try Self.open(state).withoutWaiting(restoring: timeout) { writer throws(StoreFailure) in
                try writer.inTransaction { connection throws(StoreFailure) in .commit(try body(connection)) }
            }
        }
    }

    /// Runs a call that only reads. One statement is a snapshot by itself; `inTransaction` makes several one.
    func read<Value: Sendable>(
        inTransaction: Bool = false, _ body: @Sendable (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        guard let readers else {
            return try writer.withLock { state throws(StoreFailure) in
                let writer = try Self.open(state)
                return try writer.outsideTransaction { connection throws(StoreFailure) in
                    try Self.read(connection, inTransaction: inTransaction, body)
                }
            }
        }
        return try readers.read { connection throws(StoreFailure) in
            try Self.read(connection, inTransaction: inTransaction, body)
        }
    }

    private static func read<Value: Sendable>(
        _ connection: Connection, inTransaction: Bool, _ body: @Sendable (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        guard inTransaction else { return try body(connection) }
        try connection.statement("BEGIN DEFERRED").run()
        do throws(StoreFailure) {
            let value = try body(connection)
            try connection.statement("COMMIT").run()
            return value
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    private static func open(_ state: WriterState) throws(StoreFailure) -> Writer {
        guard let writer = state.writer else {
            throw .closed
        }
        return writer
    }

    /// Writes to a file that was deleted are lost; better to say so.
    private func checkFileIsThere() throws(StoreFailure) {
        guard let identity else { return }
        guard files.identity() == identity else {
            throw .replaced(configuration.file)
        }
    }

    // MARK: Care

    public func checkpoint() throws(StoreFailure) {
        let pages = configuration.limits.checkpointPages
        let isDue = try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).isCheckpointDue(at: pages)
        }
        if isDue { try checkpointNow() }
    }

    /// Leaves nothing in the log's file: now, or where somebody reads from it or the disk fails, with a later checkpoint.
    func truncateLogSoon() {
        try? writer.withLock { state throws(StoreFailure) in try Self.open(state).needsTruncation = true }
        try? checkpoint()
    }

    /// Writes the log into the database file, due or not.
    package func checkpointNow() throws(StoreFailure) {
        guard readers != nil else {
            return try writer.withLock { state throws(StoreFailure) in try Self.open(state).checkpointAlone() }
        }
        try writer.withLock { [uri, limits = configuration.limits] state throws(StoreFailure) in
            let other = try Connection(opening: uri, tables: [], busyTimeout: limits.busyTimeout)
            try Self.open(state).checkpoint(through: other)
        }
    }

    /// A number that changes when another connection than this store's writer has committed.
    ///
    /// Asked under the write lock: the log is written to a moment before the commit can be seen, and who was woken by
    /// that write must not look too early.
    func foreignCommits() throws(StoreFailure) -> Int64 {
        try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).inTransaction { connection throws(StoreFailure) in
                let statement = try connection.statement("PRAGMA data_version")
                defer { statement.reset() }
                return .rollBack(try statement.step() ? statement.integer(0) : 0)
            }
        }
    }

    /// The setting of the connection that writes, by its SQL.
    package func setting(_ pragma: String) throws(StoreFailure) -> String {
        try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).outsideTransaction { connection throws(StoreFailure) in
                try connection.text(of: "PRAGMA \(pragma)")
            }
        }
    }

    /// Reads the whole file for damage, and every write that is not confirmed. Takes seconds for gigabytes.
    ///
    /// - Throws: `corrupt`, with the first finding.
    public func verify() throws(StoreFailure) {
        let finding = try read { connection throws(StoreFailure) in try connection.text(of: "PRAGMA quick_check(1)") }
        guard finding == "ok" else {
            throw StoreFailure(.corrupt, "\(configuration.file) is damaged: \(finding)")
        }
        let (found, counted) = try read(inTransaction: true) { connection throws(StoreFailure) in
            guard let meta = try Meta.load(connection) else { throw StoreFailure.withoutIdentity }
            let statement = try connection.prepare("SELECT \(StoredEntry.columns) FROM sync_outbox ORDER BY sequence")
            defer { statement.reset() }
            var found = 0
            while try statement.step() {
                _ = try StoredEntry(statement)
                found += 1
            }
            return (found, meta.outbox.count)
        }
        guard found == counted else {
            throw StoreFailure(
                .corrupt, "\(configuration.file) is damaged: the outbox holds \(found) entries, \(counted) expected")
        }
    }
}

/// The address of a database file for SQLite. A file is never created by SQLite itself: we make it, with our
/// permissions; on a VFS of its own there are none.
enum URIText {
    static func make(_ configuration: StoreConfiguration, creating: Bool) -> String {
        var uri = "file:"
        for byte in configuration.file.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                uri.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                uri += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        guard let vfs = configuration.vfs else { return uri + "?mode=rw" }
        return uri + "?mode=\(creating ? "rwc" : "rw")&vfs=\(vfs)"
    }
}

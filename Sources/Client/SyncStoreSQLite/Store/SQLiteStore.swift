import Schemas
public import SyncConcurrency
public import SyncCore
public import SyncModel

/// A client's local cache in one SQLite file: the current records that reads return, their bases, the outbox, and the
/// journal.
///
/// Every call is synchronous and runs in one transaction. Writers wait for each other; readers wait for nobody. Calls
/// are safe from any thread, and while other processes use the same file.
public final class SQLiteStore: Sendable {
    public let catalog: SchemaCatalog
    public let changes = Broadcast<StoreChange>()
    public let configuration: StoreConfiguration

    /// The schema version of the fixed tables that this build creates and migrates to.
    public static var schemaVersion: Int { LocalSchema.migrations.count }

    let tables: [RecordTable]
    /// The SQLite URI of the database, for opening further connections.
    let uri: String
    let files: DatabaseFiles
    private let writer: Guarded<WriterState>
    /// The connections for readers; nil when one connection does everything.
    private let readers: ReadConnections?
    /// The identity of the opened file; nil with a custom VFS.
    private let identity: DatabaseFiles.Identity?

    private struct WriterState {
        /// The writer; nil once the store is closed.
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

    /// Opens the database, creates or migrates it, and checks that it belongs to Tombolo.
    ///
    /// - Parameters:
    ///   - now: the wall clock, for the identity of a new database.
    ///   - random: the random source, for the identity of a new database.
    /// - Throws: an error that says what is wrong with the file, its folder, or its schema. The database is unchanged
    ///   then.
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
        // The lock keeps a second process from seeing the tables of an unfinished creation or migration.
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

    /// Closes all connections and ends the broadcast of changes. Later calls throw.
    public func close() {
        readers?.close()
        writer.withLock { $0.writer = nil }
        // This must come last: a task that waits for changes reads the store once more when the broadcast ends, and
        // must find it closed.
        changes.finish()
    }

    // MARK: Plumbing

    /// Runs a call that changes something, and publishes the change once it is durable.
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

    /// Runs a write that nobody observes and that can wait. Throws `busy` at once when another program is writing.
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

    /// Runs a call that only reads.
    ///
    /// A single statement sees one snapshot by itself. Pass `inTransaction` to give several statements the same
    /// snapshot.
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

    /// Throws when the database file was deleted or replaced, because writes to it would be lost.
    private func checkFileIsThere() throws(StoreFailure) {
        guard let identity else { return }
        guard files.identity() == identity else {
            throw .replaced(configuration.file)
        }
    }

    // MARK: Maintenance

    public func checkpoint() throws(StoreFailure) {
        let pages = configuration.limits.checkpointPages
        let isDue = try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).isCheckpointDue(at: pages)
        }
        if isDue { try checkpointNow() }
    }

    /// Empties the WAL file now, or with a later checkpoint if a reader still uses the WAL or the disk fails.
    func truncateLogSoon() {
        try? writer.withLock { state throws(StoreFailure) in try Self.open(state).needsTruncation = true }
        try? checkpoint()
    }

    /// Checkpoints the WAL into the database file, whether or not a checkpoint is due.
    package func checkpointNow() throws(StoreFailure) {
        guard readers != nil else {
            return try writer.withLock { state throws(StoreFailure) in try Self.open(state).checkpointAlone() }
        }
        try writer.withLock { [uri, limits = configuration.limits] state throws(StoreFailure) in
            let other = try Connection(opening: uri, tables: [], busyTimeout: limits.busyTimeout)
            try Self.open(state).checkpoint(through: other)
        }
    }

    /// Returns a number that changes when a connection other than this store's writer has committed.
    ///
    /// It is read under the write lock. The WAL file changes a moment before the commit is visible, so a caller woken
    /// by that change must wait for the commit to finish.
    func foreignCommits() throws(StoreFailure) -> Int64 {
        try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).inTransaction { connection throws(StoreFailure) in
                let statement = try connection.statement("PRAGMA data_version")
                defer { statement.reset() }
                return .rollBack(try statement.step() ? statement.integer(0) : 0)
            }
        }
    }

    /// Returns the value of a pragma on the writer's connection.
    package func setting(_ pragma: String) throws(StoreFailure) -> String {
        try writer.withLock { state throws(StoreFailure) in
            try Self.open(state).outsideTransaction { connection throws(StoreFailure) in
                try connection.text(of: "PRAGMA \(pragma)")
            }
        }
    }

    /// Checks the whole file for damage, and decodes every unconfirmed write. Takes seconds for gigabytes.
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

/// Builds the SQLite URI of a database file.
///
/// SQLite itself never creates a file, because the store creates it first with its own permissions. A custom VFS has no
/// permissions, so there SQLite may create it.
enum URIText {
    static func make(_ configuration: StoreConfiguration, creating: Bool) -> String {
        let uri = "file:" + PercentEncoding.path(configuration.file)
        guard let vfs = configuration.vfs else { return uri + "?mode=rw" }
        return uri + "?mode=\(creating ? "rwc" : "rw")&vfs=\(vfs)"
    }
}

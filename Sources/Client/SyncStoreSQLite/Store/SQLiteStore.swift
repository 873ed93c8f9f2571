import SQLiteDatabase
import Schemas
public import SyncConcurrency
public import SyncCore
public import SyncModel

/// A client's local store in one SQLite file: the current records that reads return, their bases, the outbox, and the
/// journal.
///
/// Every call is synchronous and takes effect completely or not at all. Writers wait for each other, and local writes
/// that wait at the same time share a transaction. With a pool of readers, a read never waits for a write. Calls are
/// safe from any thread, and while other processes use the same file.
public final class SQLiteStore: Sendable {
    public let catalog: SchemaCatalog
    public let changes = Broadcast<StoreChange>()
    /// The options with which the store was opened.
    public let configuration: StoreConfiguration

    /// The schema version of the fixed tables that this build creates and migrates to.
    public static var schemaVersion: Int { LocalSchema.migrations.count }

    let tables: [RecordTable]
    /// The SQLite URI of the database, for opening further connections.
    private let uri: String
    let files: DatabaseFiles
    private let writer: Guarded<WriterState>
    private let queue = WriteQueue()
    /// The connections for readers; nil when one connection does everything.
    private let readers: ReaderPool?
    /// The files that the writer has opened; nil with a custom VFS.
    private let openFiles: OpenFiles?

    private struct WriterState {
        /// The writer; nil once the store is closed.
        var writer: Writer?
    }

    private init(
        writer: sending Writer, configuration: StoreConfiguration, catalog: SchemaCatalog
    ) {
        self.configuration = configuration
        self.catalog = catalog
        tables = writer.tables
        let uri = Self.uri(configuration, creating: false)
        let openFiles = writer.files
        self.uri = uri
        files = DatabaseFiles(path: configuration.file)
        self.openFiles = openFiles
        switch configuration.connections {
        case .pool(let count):
            readers = ReaderPool(count: count) {
                let connection = try Connection(opening: uri, busyTimeout: configuration.limits.busyTimeout)
                connection.openFiles = openFiles
                try Self.check(openFiles)
                try connection.harden()
                try connection.turnOffCheckpoints()
                return connection
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
    /// - Throws: an error that says what is wrong with the file, its folder, or its schema. The records, the outbox,
    ///   and the journal are unchanged then.
    public static func open(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, now: WallTime,
        random: inout some RandomNumberGenerator
    ) throws(StoreError) -> SQLiteStore {
        let newClient = ClientID.make(at: now, random: &random)
        return try StoreError.converting { try open(configuration, catalog: catalog, newClient: newClient) }
    }

    private static func open(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, newClient: ClientID
    ) throws -> SQLiteStore {
        let tables = RecordTable.all(of: catalog)
        let files = DatabaseFiles(path: configuration.file)
        let creates = configuration.createsIfMissing
        let uri = uri(configuration, creating: creates)
        if configuration.vfs != nil {
            // There is no marker file, so a database without an identity counts as a new one.
            let writer = try Writer(
                uri: uri, configuration: configuration, tables: tables, newClient: newClient)
            return SQLiteStore(writer: writer, configuration: configuration, catalog: catalog)
        }
        do {
            try files.prepareForClient(creatingIfMissing: creates)
        } catch let error as StoreError where error.code == .corrupt && files.hasOtherNames {
            // Another process may still be salvaging the database.
            _ = try lock(files, configuration)
            try files.prepareForClient(creatingIfMissing: creates)
        }
        // The lock keeps a second process from seeing the tables of an unfinished creation or migration.
        let lock = try lock(files, configuration)
        defer { withExtendedLifetime(lock) {} }
        if creates { try files.createWithMark(for: StoredCatalog.text(of: tables)) }
        try files.checkContents(creatingIfMissing: creates)
        try files.checkWAL()
        let isNew = creates && files.isBeingCreated
        let writer = try Writer(
            uri: uri, configuration: configuration, tables: tables, newClient: isNew ? newClient : nil)
        files.created()
        return SQLiteStore(writer: writer, configuration: configuration, catalog: catalog)
    }

    /// Takes the lock that processes hold while they create, migrate, or salvage the database.
    private static func lock(_ files: DatabaseFiles, _ configuration: StoreConfiguration) throws -> FileLock {
        let timeout = configuration.limits.busyTimeout
        guard let lock = try FileLock.locking(files.openLock, within: timeout) else {
            throw StoreError(
                .busy, "another program has been opening or repairing the database for \(timeout): \(files.openLock)")
        }
        return lock
    }

    /// Returns the SQLite URI of a database file.
    ///
    /// SQLite itself never creates a file, because the store creates it first with its own permissions. A custom VFS
    /// has no permissions, so there SQLite may create it.
    static func uri(_ configuration: StoreConfiguration, creating: Bool) -> String {
        DatabaseURI.make(configuration.file, vfs: configuration.vfs, creating: creating && configuration.vfs != nil)
    }

    /// Closes all connections and ends the broadcast of changes. Later calls throw.
    public func close() {
        // If this fails, SQLite tries again with the last connection.
        if openFiles?.replaced != nil { saveDeletedWAL() }
        readers?.close()
        writer.withLock { $0.writer = nil }
        // This must come last: a task that waits for changes reads the store once more when the broadcast ends, and
        // must find it closed.
        changes.finish()
    }

    // MARK: Plumbing

    /// Runs a call that changes something, in a transaction of its own, and publishes the change after the commit.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Value
    ) throws(StoreError) -> Value {
        try checkFiles()
        let call = WriteCall(body)
        queue.add([call], sharing: false) { carryOut($0) }
        return try published(call)
    }

    /// Runs local writes, and publishes their changes after the commit. Those that wait at the same time share a
    /// transaction, and each takes effect, or fails, by itself.
    ///
    /// - Parameter bodies: may be called again after their changes were rolled back.
    /// - Throws: when the store cannot write at all. Nothing has been called then.
    func writeTogether<Value: Sendable>(
        _ bodies: [@Sendable (WriteTransaction) throws -> Value]
    ) throws(StoreError) -> [Result<Value, StoreError>] {
        guard !bodies.isEmpty else { return [] }
        try checkFiles()
        let calls = bodies.map { WriteCall($0) }
        queue.add(calls, sharing: true) { carryOut($0) }
        return calls.map { call in Result { () throws(StoreError) in try published(call) } }
    }

    /// Returns the value of a call that has been carried out, after publishing its change.
    private func published<Value>(_ call: WriteCall<Value>) throws(StoreError) -> Value {
        let (value, change) = try call.result()
        if !change.isEmpty { changes.publish(change) }
        return value
    }

    /// The number of threads that wait to write.
    var waitingThreads: Int { queue.waiting }

    /// Carries out calls in one transaction. If it fails as a whole, each call runs in a transaction of its own, so
    /// that none fails because of another.
    private func carryOut(_ calls: [any QueuedWrite]) {
        let hasBegun = Guarded(false)
        do throws(StoreError) {
            let isWALLong = try withWriter { [catalog, tables, configuration] writer in
                try writer.carryOut(calls, in: configuration.file) { connection in
                    hasBegun.withLock { $0 = true }
                    return try WriteTransaction(
                        on: connection, catalog: catalog, tables: tables, limits: configuration.limits,
                        cache: writer.cache)
                }
                return writer.hasUnseenPages(configuration.limits.longestWALPages)
            }
            // The calls are durable, so a failure costs disk space only. A later checkpoint makes up for it.
            if isWALLong { try? checkpointNow() }
        } catch {
            guard calls.count > 1, hasBegun.withLock({ $0 }) else {
                for call in calls { call.fail(error) }
                return
            }
            for (index, call) in calls.enumerated() {
                carryOut([call])
                // Another program has locked the database meanwhile. The others need not wait for it one by one.
                if let failure = call.failure, failure.code == .busy {
                    for other in calls[(index + 1)...] { other.fail(failure) }
                    return
                }
            }
        }
    }

    /// Runs a write that nobody observes and that can wait. Throws `busy` at once when another program is writing.
    func writeUnlessBusy<Value: Sendable>(
        _ body: @Sendable (Connection) throws -> Value
    ) throws(StoreError) -> Value {
        try checkFiles()
        return try withWriter { [timeout = configuration.limits.busyTimeout] writer in
            try writer.withoutWaiting(restoring: timeout) { writer in
                try writer.inTransaction { connection in .commit(try body(connection)) }
            }
        }
    }

    /// Runs a call that only reads.
    ///
    /// A single statement sees one snapshot by itself. Pass `inTransaction` to give several statements the same
    /// snapshot.
    func read<Value: Sendable>(
        inTransaction: Bool = false, _ body: @Sendable (Connection) throws -> Value
    ) throws(StoreError) -> Value {
        @Sendable func run(_ connection: Connection) throws -> Value {
            do {
                return inTransaction ? try connection.readSnapshot(body) : try body(connection)
            } catch let error as StoreError where error.code == .corrupt {
                // A row with the fields of a newer build looks damaged to this one.
                guard let match = try? StoredModels.match(tables, in: connection), !match else { throw error }
                throw StoreError.modelsChanged(configuration.file)
            }
        }
        guard let readers else { return try withWriter { writer in try run(writer.connection) } }
        return try StoreError.converting { try readers.read(run) }
    }

    /// Calls `body` with the writer, while no other thread uses it.
    private func withWriter<Value: Sendable>(_ body: @Sendable (Writer) throws -> Value) throws(StoreError) -> Value {
        try StoreError.converting {
            try writer.withLock { state in
                guard let writer = state.writer else { throw StoreError.closed }
                return try body(writer)
            }
        }
    }

    /// Throws when a file of the database was deleted or replaced, because writes would be lost.
    private func checkFiles() throws(StoreError) {
        guard let replaced = openFiles?.replaced else { return }
        // Closing the last connection deletes the WAL.
        if writer.withLock({ $0.writer == nil }) { throw .closed }
        throw .replaced(replaced, unsaved: saveDeletedWAL())
    }

    /// Copies a WAL that was deleted into the database file, unless another process may have written a new one.
    ///
    /// It runs on the writer's connection, because another one would not have the deleted file open.
    ///
    /// - Returns: why it could not be copied; nil if it was, or if there was nothing to copy.
    @discardableResult
    private func saveDeletedWAL() -> StoreError? {
        guard openFiles?.mayHaveForeignWAL == false else { return nil }
        do throws(StoreError) {
            try withWriter { try $0.checkpointAlone() }
            return nil
        } catch {
            return error
        }
    }

    private static func check(_ files: OpenFiles?) throws(StoreError) {
        if let replaced = files?.replaced { throw .replaced(replaced) }
    }

    // MARK: Maintenance

    public func checkpoint() throws(StoreError) {
        let pages = configuration.limits.checkpointPages
        if try withWriter({ $0.isCheckpointDue(at: pages) }) { try checkpointNow() }
    }

    /// Empties the WAL file now, or with a later checkpoint if a reader still uses the WAL or the disk fails.
    func truncateWALSoon() {
        try? withWriter { $0.needsTruncation = true }
        try? checkpoint()
    }

    /// Checkpoints the WAL into the database file, whether or not a checkpoint is due.
    package func checkpointNow() throws(StoreError) {
        try checkFiles()
        guard readers != nil else { return try withWriter { try $0.checkpointAlone() } }
        try withWriter { [uri, openFiles, timeout = configuration.limits.busyTimeout] writer in
            let connection = try Connection(opening: uri, busyTimeout: timeout)
            connection.openFiles = openFiles
            try writer.checkpoint(through: connection)
        }
    }

    /// Returns a number that changes when a connection other than this store's writer has committed.
    ///
    /// It is read under the write lock. The WAL file changes a moment before the commit is visible, so a caller woken
    /// by that change must wait for the commit to finish.
    func foreignCommits() throws(StoreError) -> Int64 {
        try withWriter { writer in
            try writer.inTransaction { connection in
                .rollBack(try connection.statement("PRAGMA data_version").first { $0.integer(0) } ?? 0)
            }
        }
    }

    /// Returns the value of a pragma on the writer's connection.
    package func setting(_ pragma: String) throws(StoreError) -> String {
        try withWriter { try $0.connection.text(of: "PRAGMA \(pragma)") }
    }

    /// Checks the whole database for damage: pages, indexes, schema, each row, and counts. Takes seconds for gigabytes.
    ///
    /// - Throws: `corrupt`, with the first finding; `inputOutput` if the disk does not return a page.
    public func verify() throws(StoreError) {
        let file = configuration.file
        try read(inTransaction: true) { [tables] connection in
            try Verification(connection: connection, tables: tables, file: file).run()
        }
    }
}

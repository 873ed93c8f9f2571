public import SyncModel

/// The options for opening a local store.
public struct StoreConfiguration: Hashable, Sendable {
    /// The path of the database file. The WAL (`-wal`), its shared-memory index (`-shm`), and two lock files are
    /// created next to it.
    public var file: String
    /// The failures that a returned write survives. The default is a crash of the program.
    public var durability = Durability.normal
    /// Whether opening creates a missing file. Otherwise, it throws `missingFile`.
    public var createsIfMissing = true
    /// The bounds of the outbox, the journal, and the file, and how long to wait for a lock.
    public var limits = StoreLimits()
    /// How reads and writes share the file.
    public var connections = Connections.pool(readers: 4)
    /// The name of a registered SQLite VFS to use instead of the file system. That VFS is then responsible for
    /// permissions and locking.
    public var vfs: String?

    /// The ways to distribute reads and writes over connections.
    public enum Connections: Hashable, Sendable {
        /// One writer, and separate connections for readers, which never wait for the writer.
        case pool(readers: Int)
        /// One connection for everything, without other threads, so that the order of operations is always the same.
        /// For simulations.
        case single
        /// One connection that locks the file exclusively. Works on a VFS without shared memory.
        case exclusive
    }

    /// Creates the options with all defaults. Nothing is opened yet.
    public init(file: String) {
        self.file = file
    }
}

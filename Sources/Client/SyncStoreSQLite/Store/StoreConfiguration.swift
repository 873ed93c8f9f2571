public import SyncModel

/// The options for opening a local cache.
public struct StoreConfiguration: Hashable, Sendable {
    /// The path of the database file. The WAL (`-wal`), its shared-memory index (`-shm`), and two lock files are
    /// created next to it.
    public var file: String
    public var durability = Durability.normal
    public var createsIfMissing = true
    public var limits = StoreLimits()
    public var connections = Connections.pool(readers: 4)
    /// The name of a registered SQLite VFS to use instead of the file system. That VFS is then responsible for
    /// permissions and locking.
    public var vfs: String?

    public enum Connections: Hashable, Sendable {
        /// One writer, and separate connections for readers, which never wait for the writer.
        case pool(readers: Int)
        /// One connection for everything, with no other thread and always the same order. For simulations.
        case single
        /// One connection that locks the file exclusively. Works on a VFS without shared memory.
        case exclusive
    }

    public init(file: String) {
        self.file = file
    }
}

public import SyncModel

/// How a local cache is opened.
public struct StoreConfiguration: Hashable, Sendable {
    /// The database file. Beside it live its log (`-wal`), the index of the log (`-shm`), and two lock files.
    public var file: String
    public var durability = Durability.normal
    public var createsIfMissing = true
    public var limits = StoreLimits()
    public var connections = Connections.pool(readers: 4)
    /// The name of a registered SQLite VFS instead of the file system. Permissions and lock files are then left to
    /// whoever made that VFS.
    public var vfs: String?

    public enum Connections: Hashable, Sendable {
        /// One writer, and connections of their own for readers, which never wait for it.
        case pool(readers: Int)
        /// One connection for everything: no other thread, and the same order every time. For simulations.
        case single
        /// The same, holding the file for itself alone: works on a VFS without shared memory.
        case exclusive
    }

    public init(file: String) {
        self.file = file
    }
}

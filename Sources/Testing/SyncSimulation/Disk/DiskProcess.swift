import CFaultVFS

/// A process that uses a simulated disk. SQLite sees it as a VFS with a unique name.
///
/// After the process is killed or the power of its disk fails, its files answer every call with an error. Connections
/// may still be closed, which frees their memory and changes nothing.
///
/// Keep the process at least until SQLite has opened a database through its VFS: the VFS is unregistered when the
/// process is released and its last file is closed.
public final class DiskProcess: Sendable {
    public let disk: SimulatedDisk
    private let address: UInt

    init(disk: SimulatedDisk) {
        self.disk = disk
        address = UInt(bitPattern: fault_mount_create(disk.pointer))
    }

    deinit {
        fault_mount_release(pointer)
    }

    private var pointer: OpaquePointer {
        guard let pointer = OpaquePointer(bitPattern: address) else { preconditionFailure("a process has an address") }
        return pointer
    }

    /// The name of the VFS, for `sqlite3_open_v2`.
    public var vfsName: String { String(cString: fault_mount_name(pointer)) }

    /// Returns a URI for a file on the disk, for use wherever SQLite accepts URIs.
    ///
    /// - Parameter path: an absolute path that consists of letters, digits, and "/.-_".
    public func uri(for path: String) -> String {
        "file:\(path)?vfs=\(vfsName)"
    }

    /// Kills the process as SIGKILL does: its completed writes stay, and its locks are released.
    public func kill() {
        fault_mount_kill(pointer)
    }

    public var isDead: Bool { fault_mount_is_dead(pointer) }

    /// The number of files that the process has open, even after its death; 0 once every connection is closed.
    public var openFileCount: Int { Int(fault_mount_open_files(pointer)) }
}

import CFaultVFS

/// One process that uses a simulated disk, as SQLite knows it: a VFS under a name of its own.
///
/// When it is killed, or the power of its disk fails, its files answer every call with an error. Connections may be
/// closed after that: they free their memory and change nothing.
///
/// Keep it at least until a database has been opened by its name: the name goes with it, or with the last open file.
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

    /// Opens a file of the disk wherever SQLite takes URIs.
    ///
    /// - Parameter path: absolute, of letters, digits and "/.-_".
    public func uri(for path: String) -> String {
        "file:\(path)?vfs=\(vfsName)"
    }

    /// Ends the process as SIGKILL does: what it wrote stays, its locks are gone.
    public func kill() {
        fault_mount_kill(pointer)
    }

    public var isDead: Bool { fault_mount_is_dead(pointer) }

    /// The files that it has open, also after its death: 0 once every connection is closed.
    public var openFileCount: Int { Int(fault_mount_open_files(pointer)) }
}

import Glibc
import SQLiteDatabase
public import SyncCore
import SyncModel

/// The right to sync one database. At most one engine has it (I24).
///
/// It is a kernel lock on `<database>.sync`. A holder that is killed loses it at once, and neither clocks nor process
/// ids matter. The file contains the holder's process id, for people to read.
public final class SyncLease: Sendable {
    private let lock: FileLock

    private init(_ lock: FileLock) {
        self.lock = lock
    }

    /// The result of trying to take the lease.
    public enum Attempt: Sendable {
        /// This process may sync the database until it releases the value.
        case acquired(SyncLease)
        /// Another engine syncs this database. The value is its process id, if it could be read.
        case held(by: Int32?)
    }

    /// Tries to take the lease of the database at `file`. Releasing the `SyncLease` gives it back.
    ///
    /// - Parameter timeout: how long to block the thread for a short-lived holder, such as one that only checks whether
    ///   the lease is free.
    public static func tryAcquire(file: String, within timeout: Duration = .zero) throws(StoreError) -> Attempt {
        let path = DatabaseFiles(path: file).syncLock
        let lock = try StoreError.converting { try FileLock.locking(path, within: timeout) }
        guard let lock else {
            let text = FileLock.text(in: path)?.split(whereSeparator: \.isNewline).first
            return .held(by: text.flatMap { Int32($0) })
        }
        // The process id is only for people. On a full disk the lease is still valid without it, and `status` and
        // `doctor` must be able to report the full disk.
        try? lock.write("\(getpid())\n")
        return .acquired(SyncLease(lock))
    }

    /// Asks the process that syncs the database at `file` to sync now.
    ///
    /// The request is a new modification time of the lock file. The `ExternalChangeWatcher` of the other process
    /// notices it, and nothing has to be written to a disk that may be full.
    public static func requestSync(file: String) throws(StoreError) {
        let path = DatabaseFiles(path: file).syncLock
        guard utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT else {
            throw StoreError(DatabaseError.file("touch", path))
        }
    }

    /// The time, in nanoseconds since 1970, at which the lock file was changed: by the last request for a sync, or by
    /// the last holder of the lease. Nil when there is no such file.
    static func lastRequest(file: String) -> Int64? {
        var status = stat()
        guard lstat(DatabaseFiles(path: file).syncLock, &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
    }
}

import Glibc
public import SyncCore
import SyncModel

/// The right to sync one database: at most one engine has it (I24).
///
/// It is a lock of the kernel's on `<database>.sync`: a holder that is killed loses it at once, and neither clocks nor
/// process ids decide anything. The holder's process id stands in the file, for people.
public final class SyncLease: Sendable {
    private let lock: FileLock

    private init(_ lock: consuming FileLock) {
        self.lock = lock
    }

    public enum Attempt: Sendable {
        case acquired(SyncLease)
        /// Another engine syncs this database. Its process id, when it could be read.
        case held(by: Int32?)
    }

    /// Takes the lease of the database at `file`. It is given back when the lease is released.
    ///
    /// - Parameter patience: how long to block the thread for a holder that lets go of it soon: one that only looked
    ///   whether it is free.
    public static func tryAcquire(file: String, within patience: Duration = .zero) throws(StoreFailure) -> Attempt {
        let path = DatabaseFiles(path: file).syncLock
        guard let lock = try FileLock(locking: path, within: patience) else {
            let text = FileLock.text(in: path)?.split(whereSeparator: \.isNewline).first
            return .held(by: text.flatMap { Int32($0) })
        }
        // Only for people: on a full disk the lease is as good without it, and status and doctor have to tell of the disk.
        try? lock.write("\(getpid())\n")
        return .acquired(SyncLease(lock))
    }
}

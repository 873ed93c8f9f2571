import Glibc
import SyncCore
import SyncModel

/// An exclusive `flock` on a small file. The kernel releases it when this value is destroyed or the process dies.
struct FileLock: ~Copyable, Sendable {
    private let descriptor: Int32

    /// Takes the lock without waiting; nil when another open file description holds it.
    init?(tryingToLock path: String) throws(StoreFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DatabaseFiles.failure("open the lock file", path) }
        var result: Int32
        repeat { result = flock(descriptor, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let code = errno
            close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw DatabaseFiles.failure("lock", path, code)
        }
        self.descriptor = descriptor
    }

    /// Takes the lock, retrying every few milliseconds; nil when it is still held at the end of `patience`.
    init?(locking path: String, within patience: Duration) throws(StoreFailure) {
        let pause = Duration.milliseconds(5)
        var waited = Duration.zero
        while true {
            if let lock = try FileLock(tryingToLock: path) {
                self = lock
                return
            }
            guard waited < patience else { return nil }
            poll(nil, 0, Int32(pause.wholeMilliseconds))
            waited += pause
        }
    }

    deinit {
        // Closing alone is not enough: a child process shares the lock between fork and exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Writes a short text into the file, for processes that find it locked.
    borrowing func write(_ text: String) throws(StoreFailure) {
        let bytes = Array(text.utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw DatabaseFiles.failure("write", "the lock file")
        }
    }

    /// Returns the text in a lock file, whether or not it is locked; nil when there is none.
    static func text(in path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}

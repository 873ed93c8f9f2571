import Glibc
import SyncModel

/// An exclusive `flock` on a small file. The kernel releases it when this object is destroyed or the process ends.
package final class FileLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone is not enough: a child process shares the lock between fork and exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Takes the lock without waiting; nil when another open file description holds it.
    package static func tryLocking(_ path: String) throws(DatabaseError) -> FileLock? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("open the lock file", path) }
        var result: Int32
        repeat { result = flock(descriptor, LOCK_EX | LOCK_NB) } while result != 0 && errno == EINTR
        guard result == 0 else {
            let code = errno
            close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw .file("lock", path, code)
        }
        return FileLock(descriptor)
    }

    /// Returns whether a process holds the lock of a file. Does not create the file.
    ///
    /// The check takes a shared lock for a moment. Two checks therefore do not take each other for a holder, but a
    /// process that tries to lock the file just then finds it locked.
    package static func isHeld(_ path: String) throws(DatabaseError) -> Bool {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw .file("open the lock file", path)
        }
        defer { close(descriptor) }
        var result: Int32
        repeat { result = flock(descriptor, LOCK_SH | LOCK_NB) } while result != 0 && errno == EINTR
        guard result != 0 else {
            flock(descriptor, LOCK_UN)
            return false
        }
        guard errno == EWOULDBLOCK else { throw .file("lock", path) }
        return true
    }

    /// Takes the lock, retrying every few milliseconds; nil when it is still held at the end of `timeout`.
    package static func locking(_ path: String, within timeout: Duration) throws(DatabaseError) -> FileLock? {
        let pause = Duration.milliseconds(5)
        var waited = Duration.zero
        while true {
            if let lock = try tryLocking(path) { return lock }
            guard waited < timeout else { return nil }
            poll(nil, 0, Int32(pause.wholeMilliseconds))
            waited += pause
        }
    }

    /// Writes a short text into the file, for processes that find the file locked.
    package func write(_ text: String) throws(DatabaseError) {
        let bytes = Array(text.utf8)
        guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw .file("write", "the lock file")
        }
    }

    /// Returns the first 64 bytes of a lock file as text, whether or not it is locked; nil when the file is missing or
    /// empty.
    package static func text(in path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}

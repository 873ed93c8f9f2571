import Glibc
import SyncAuthority
import SyncConcurrency

/// A lock that marks this process as the one that serves the database. The system releases it when the process ends, in
/// any way.
final class ServingLock: Sendable {
    private let descriptor: Guarded<Int32?>

    init(beside files: AuthorityFiles) throws(AuthorityStoreFailure) {
        let opened = open(files.servingLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw .file(files.servingLock, "open") }
        guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
            let failure =
                errno == EWOULDBLOCK
                ? AuthorityStoreFailure(.inUse, "\(files.path) is served by another process; stop that one first")
                : AuthorityStoreFailure.file(files.servingLock, "lock")
            close(opened)
            throw failure
        }
        descriptor = Guarded(opened)
    }

    deinit { release() }

    func release() {
        let held = descriptor.withLock { descriptor in
            let held = descriptor
            descriptor = nil
            return held
        }
        guard let held else { return }
        // Closing the descriptor is not enough: a child process that is being started shares the lock until it executes
        // its program.
        flock(held, LOCK_UN)
        close(held)
    }
}

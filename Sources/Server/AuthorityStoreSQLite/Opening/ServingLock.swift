import Glibc
import SyncAuthority
import SyncConcurrency

/// Says that this process serves the database. The system takes it back when the process ends, however it ends.
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
        // Not by closing alone: a child process that is being started shares the lock until it runs its program.
        flock(held, LOCK_UN)
        close(held)
    }
}

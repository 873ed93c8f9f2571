import Glibc
import SQLiteDatabase
import SyncAuthority

// The files that a server keeps beside its database.
extension DatabaseFiles {
    /// The path of the lock file. The process that holds its lock serves the database; the existence of the file means
    /// nothing.
    private var servingLock: String { path + "-serving" }

    /// The path of the mark, in which a running server records the heads of its change feeds. If the database
    /// is missing or empty, the mark proves that data was lost.
    private var mark: String { path + "-mark" }

    /// Creates missing files and folders with permissions for the owner only, and takes the serving lock.
    ///
    /// - Throws: `inUse` when another process serves the database, `missingFile` when the database is missing and
    ///   `creates` is false, and `corrupt` when the mark shows that there was one.
    func prepareForServer(creatingIfMissing creates: Bool) throws -> FileLock {
        guard let lock = try lockForServer(creatingIfMissing: creates) else {
            throw AuthorityStoreError(.inUse, "\(path) is being served by another process: stop that process first")
        }
        return lock
    }

    /// Takes the serving lock like `prepareForServer`, but returns nil when another process serves the database.
    func lockForServer(creatingIfMissing creates: Bool) throws -> FileLock? {
        guard !path.isEmpty, !path.hasPrefix(":"), !path.hasPrefix("file:") else {
            throw AuthorityStoreError(.missingFile, "'\(path)' is not the path of a file")
        }
        // Creating an empty file would hide the loss.
        if access(path, F_OK) != 0, access(mark, F_OK) == 0 { throw lost("is missing") }
        try prepare(creatingIfMissing: creates)
        if creates { try createIfMissing() }
        let lock = try FileLock.tryLocking(servingLock)
        if try isEmpty() {
            guard access(mark, F_OK) != 0 else { throw lost("is empty") }
            // Otherwise, an earlier start failed before SQLite wrote to the file.
            guard creates else { throw missing }
        }
        return lock
    }

    private func lost(_ state: String) -> AuthorityStoreError {
        AuthorityStoreError(
            .corrupt, "\(path) \(state), but \(mark) beside it shows that a server has used it: its contents are lost")
    }
}

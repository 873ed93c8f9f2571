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

    /// Returns whether a process serves the database, or has the serving lock for a short transaction.
    func isServed() throws(DatabaseError) -> Bool { try FileLock.isHeld(servingLock) }

    /// Checks the files like `lockForServer(creatingIfMissing:)`, without locking or creating any.
    ///
    /// No connection of this process to the file may be open, unless a process serves the database: the check closes a
    /// descriptor of the file, which releases this process's locks.
    func prepareForReader() throws {
        try checkPath()
        if access(path, F_OK) != 0, access(mark, F_OK) == 0 { throw lost("is missing") }
        try prepare(creatingIfMissing: false, narrowing: false)
        if try isEmpty() { throw access(mark, F_OK) == 0 ? lost("is empty") : missing }
        if foreignPath != nil, try !isServed() { try checkBackup() }
    }

    /// Throws `corrupt` if a backup was restored beside the WAL or the rollback journal of the database that it
    /// replaces.
    ///
    /// SQLite would apply that file to the backup, and keep the result even if the server then refused to start. The
    /// header of a backup names a rollback journal. The header of a server's database names the WAL.
    ///
    /// Closing a descriptor of the file releases the locks that this process holds on it, so no connection of this
    /// process may be open.
    private func checkBackup() throws(DatabaseError) {
        guard let foreignPath else { return }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("open", path) }
        defer { close(descriptor) }
        var format: UInt8 = 0
        let count = pread(descriptor, &format, 1, Self.writeFormatOffset)
        guard count >= 0 else { throw .file("read", path) }
        guard count == 1, format == Self.rollbackJournal else { return }
        // A file of one page is a new database whose server has not turned on the WAL yet. The journal belongs to it.
        guard lseek(descriptor, 0, SEEK_END) > Self.pageBytes else { return }
        throw DatabaseError(
            .corrupt,
            "\(path) is a backup, and \(foreignPath) beside it belongs to another database")
    }

    /// The WAL or the rollback journal beside the database, if it has contents.
    private var foreignPath: String? { [wal, path + "-journal"].first(where: Self.hasContents) }

    /// Whether there is a WAL with contents. A reader must not delete it: after a server was killed, it holds commits.
    /// An empty WAL may be deleted.
    var hasWAL: Bool { Self.hasContents(wal) }

    private static func hasContents(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_size > 0
    }

    private static let pageBytes: off_t = 4_096
    /// The place of the file format's write version in the header, and the version for a rollback journal
    /// (https://sqlite.org/fileformat2.html#file_format_version_numbers).
    private static let writeFormatOffset: off_t = 18
    private static let rollbackJournal: UInt8 = 1

    /// Creates missing files and folders with permissions for the owner only, and takes the serving lock.
    ///
    /// - Throws: `inUse` when another process serves the database; `noDatabase` when it is missing and `creates` is
    ///   false; `missingFile` when the path is not the path of a file; `corrupt` when the mark shows that the contents
    ///   were lost, or when a backup lies beside another database's WAL or rollback journal.
    func prepareForServer(creatingIfMissing creates: Bool) throws -> FileLock {
        guard let lock = try lockForServer(creatingIfMissing: creates) else {
            throw AuthorityStoreError(.inUse, "\(path) is being served by another process: stop that process first")
        }
        return lock
    }

    /// Takes the serving lock like `prepareForServer`, but returns nil when another process serves the database.
    func lockForServer(creatingIfMissing creates: Bool) throws -> FileLock? {
        try checkPath()
        // Creating an empty file would hide the loss.
        if access(path, F_OK) != 0, access(mark, F_OK) == 0 { throw lost("is missing") }
        try prepare(creatingIfMissing: creates)
        if creates { try createIfMissing() }
        let lock = try FileLock.tryLocking(servingLock)
        if lock != nil { try checkBackup() }
        if try isEmpty() {
            guard access(mark, F_OK) != 0 else { throw lost("is empty") }
            // Otherwise, an earlier start failed before SQLite wrote to the file.
            guard creates else { throw missing }
        }
        return lock
    }

    private func checkPath() throws(AuthorityStoreError) {
        guard !path.isEmpty, !path.hasPrefix(":"), !path.hasPrefix("file:") else {
            throw AuthorityStoreError(.missingFile, "'\(path)' is not the path of a file")
        }
    }

    /// Throws `corrupt` if the mark shows that a server has used the database. The caller has found no tables in it:
    /// its contents were in a WAL that is missing now.
    func requireUnused() throws(AuthorityStoreError) {
        if access(mark, F_OK) == 0 { throw lost("has no tables") }
    }

    private func lost(_ state: String) -> AuthorityStoreError {
        AuthorityStoreError(
            .corrupt, "\(path) \(state), but \(mark) beside it shows that a server has used it: its contents are lost")
    }
}

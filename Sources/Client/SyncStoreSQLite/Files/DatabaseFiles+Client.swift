import Glibc
import SQLiteDatabase
import SyncCore

// The files that a client keeps beside its database.
extension DatabaseFiles {
    var openLock: String { path + ".lock" }
    var syncLock: String { path + ".sync" }
    /// A marker file that exists while a database is being created, when the database file may be empty.
    private var creationMark: String { path + ".creating" }

    /// Prepares the files as `prepare(creatingIfMissing:allowingOtherNames:)` does, and throws `corrupt` if a salvage of
    /// the database was interrupted: it leaves a second name.
    ///
    /// - Parameter isSalvage: whether the interrupted salvage is about to be repeated.
    func prepareForClient(creatingIfMissing creates: Bool, forSalvage isSalvage: Bool = false) throws {
        let isHalfSalvaged = hasOtherNames && KeptFiles.hold(self)
        try prepare(creatingIfMissing: creates, allowingOtherNames: isHalfSalvaged)
        guard !isHalfSalvaged || isSalvage else {
            throw StoreError(.corrupt, "\(path) is damaged, and its salvage was interrupted")
        }
        try checkWritable()
    }

    /// Creates an empty file for the owner only if there is none.
    ///
    /// A marker file distinguishes it from a database that has lost its contents. Must be called under the open lock.
    func createWithMark() throws(DatabaseError) {
        var status = stat()
        guard lstat(path, &status) != 0, errno == ENOENT else { return }
        try Self.createPrivateFile(creationMark)
        try createIfMissing()
    }

    /// Removes the marker file. Must be called once the database has its tables.
    func created() {
        unlink(creationMark)
    }

    /// Throws if the file is not, and cannot become, a database.
    ///
    /// - Parameter creates: whether an empty file may become a new database if the marker file shows that one was being
    ///   created.
    func checkContents(creatingIfMissing creates: Bool) throws {
        guard try isEmpty() else { return }
        var mark = stat()
        guard creates && lstat(creationMark, &mark) == 0 else {
            throw StoreError(.notADatabase, "\(path) is empty: it was never initialized, or its contents are lost")
        }
    }
}

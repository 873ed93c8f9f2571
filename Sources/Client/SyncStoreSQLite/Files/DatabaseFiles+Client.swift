import Glibc
import SQLiteDatabase
import SyncCore

// The files that a client keeps beside its database.
extension DatabaseFiles {
    var openLock: String { path + ".lock" }
    var syncLock: String { path + ".sync" }
    /// The file name of the lease.
    var syncLockName: String { String(syncLock.split(separator: "/").last ?? "") }
    /// A marker file that exists while a database is being created, when the database file may be empty. It contains
    /// the models of the new database.
    private var creationMark: String { path + ".creating" }

    /// Prepares the files as `prepare(creatingIfMissing:allowingOtherNames:)` does, and throws `corrupt` if a salvage
    /// of the database was interrupted. Such a salvage leaves a second name (a hard link).
    ///
    /// - Parameter isSalvage: whether the interrupted salvage is about to be repeated.
    func prepareForClient(creatingIfMissing creates: Bool, forSalvage isSalvage: Bool = false) throws {
        let isHalfSalvaged = hasOtherNames && KeptFiles.exist(for: self)
        try prepare(creatingIfMissing: creates, allowingOtherNames: isHalfSalvaged)
        guard !isHalfSalvaged || isSalvage else {
            throw StoreError(.corrupt, "a salvage of \(path) did not finish: run it again")
        }
        try checkWritable()
    }

    /// Creates an empty database file with the permissions 600, unless there is a file already.
    ///
    /// A marker file distinguishes the empty file from a database that has lost its contents, and remembers the models
    /// of the new database. Must be called under the open lock.
    func createWithMark(for models: String) throws(DatabaseError) {
        var status = stat()
        let isMissing = lstat(path, &status) != 0 && errno == ENOENT
        guard isMissing || isBeingCreated else { return }
        try writeMark(models)
        try createIfMissing()
    }

    /// Replaces the marker file in one step, so that it never holds only a part of the models.
    private func writeMark(_ models: String) throws(DatabaseError) {
        let new = creationMark + ".new"
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .file("create", new) }
        defer { close(file) }
        var rest = Array(models.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw .file("write", new) }
            rest = rest.dropFirst(count)
        }
        guard rename(new, creationMark) == 0 else { throw .file("rename", new) }
    }

    /// Whether a process is creating the database, or was killed while it did.
    var isBeingCreated: Bool {
        var mark = stat()
        return lstat(creationMark, &mark) == 0
    }

    /// Returns the models of the database that is being created; nil when no database is being created, or when its
    /// models are unknown.
    func modelsBeingCreated() throws -> String? {
        guard isBeingCreated else { return nil }
        do {
            let text = String(decoding: try DatabaseFiles(path: creationMark).bytes(), as: UTF8.self)
            return text.isEmpty ? nil : text
        } catch let error as DatabaseError where error.code == .missingFile {
            return nil
        }
    }

    /// The error for a database whose creation was interrupted.
    var incomplete: StoreError {
        StoreError(
            .missingFile,
            "the creation of \(path) was interrupted, and nothing has been written in it: create it again")
    }

    /// Removes the marker file. Must be called after the tables of the database have been created.
    func created() {
        unlink(creationMark)
    }

    /// Throws `corrupt` if the WAL is damaged.
    ///
    /// Must be called before SQLite opens the database, because SQLite would drop all commits behind the damage without
    /// an error.
    func checkWAL() throws {
        let commits = try WALFile.commitsLostToDamage(of: self)
        guard commits > 0 else { return }
        throw StoreError(
            .corrupt,
            "\(wal) is damaged, and SQLite would drop the \(commits == 1 ? "last write" : "last \(commits) writes") in it"
        )
    }

    /// Throws if the file is not, and cannot become, a database.
    ///
    /// - Parameter creates: whether an empty file may become a new database if the marker file shows that one was being
    ///   created.
    func checkContents(creatingIfMissing creates: Bool) throws {
        guard try isEmpty() else { return }
        guard isBeingCreated else {
            throw StoreError(.notADatabase, "\(path) is empty: it was never initialized, or its contents are lost")
        }
        if !creates { throw incomplete }
    }
}

import Glibc

/// The files of one database, with permissions 0600 in a folder that nobody else can write to.
///
/// SQLite gives its WAL and the WAL's index the permissions of the database.
package struct DatabaseFiles: Hashable, Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    package var folder: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    package var wal: String { path + "-wal" }
    /// The index of the WAL, which the processes share.
    package var index: String { path + "-shm" }
    /// The file name of the WAL.
    package var walName: String { String(wal.split(separator: "/").last ?? "") }

    /// The identity of the file at the path. An open database whose file was deleted or replaced must not be written:
    /// SQLite would continue to use a file that nobody finds again.
    package struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// Returns the identity of the file, or of the link at its path; nil when there is neither.
    package func identity() -> Identity? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Whether the file has other names (hard links).
    package var hasOtherNames: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_nlink > 1
    }

    // MARK: Permissions

    /// Creates the folder if it is missing, for the owner only under any umask, and throws if other users could write
    /// the files.
    ///
    /// - Parameters:
    ///   - creates: whether a missing folder is created, and a missing file is no error. If false, a missing folder or
    ///     file throws `noDatabase`.
    ///   - allowsOtherNames: whether the file may have several names (hard links).
    ///   - narrows: whether the files get the permissions 600. A reader leaves them, because the path may lead to any
    ///     file.
    package func prepare(
        creatingIfMissing creates: Bool, allowingOtherNames allowsOtherNames: Bool = false,
        narrowing narrows: Bool = true
    ) throws(DatabaseError) {
        try prepareFolder(creates: creates)
        try checkCompanions()
        var status = stat()
        if lstat(path, &status) != 0 {
            guard errno == ENOENT else { throw .file("look at", path) }
            guard creates else { throw missing }
            return
        }
        try Self.checkKind(path, status)
        try Self.checkOwner(path, status)
        guard status.st_nlink <= 1 || allowsOtherNames else {
            throw DatabaseError(
                .unsafePermissions,
                "\(path) has \(status.st_nlink) names (hard links), and SQLite would create a WAL beside each; expected one name"
            )
        }
        guard narrows else { return }
        try Self.narrow(path, status)
        // If the files are copies from a running device, they have the permissions that the copying gave them, and
        // SQLite keeps these.
        for file in [wal, index] where lstat(file, &status) == 0 { try Self.narrow(file, status) }
    }

    /// Throws if a file that SQLite opens beside the database is not a regular one: opening a named pipe can wait
    /// forever.
    package func checkCompanions() throws(DatabaseError) {
        var status = stat()
        for file in [wal, index, path + "-journal"] where lstat(file, &status) == 0 {
            try Self.checkKind(file, status)
        }
    }

    private static func checkKind(_ path: String, _ status: stat) throws(DatabaseError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DatabaseError(.unsafePermissions, "\(path) is not a regular file; links and devices are refused")
        }
    }

    /// Sets the permissions of a file to 600.
    private static func narrow(_ path: String, _ status: stat) throws(DatabaseError) {
        guard status.st_mode & 0o7777 != 0o600, chmod(path, 0o600) != 0 else { return }
        // ENOENT means that another process has deleted the WAL meanwhile.
        guard errno != ENOENT else { return }
        throw DatabaseError(
            .unsafePermissions,
            "\(path) has permissions \(String(status.st_mode & 0o7777, radix: 8)), and they cannot be set to 600")
    }

    /// The error for a database that does not exist and must not be created.
    package var missing: DatabaseError {
        DatabaseError(.noDatabase, "there is no database at \(path)")
    }

    /// Throws if this process cannot write the files, before SQLite fails halfway.
    package func checkWritable() throws(DatabaseError) {
        for place in [folder, path] where access(place, W_OK) != 0 {
            guard place == path, errno == ENOENT else { throw .file("write", place) }
        }
    }

    /// The longest path of a database in bytes: SQLite's limit of 512, less the endings of the names of the files
    /// beside it.
    private static let pathBytes = 500

    private func prepareFolder(creates: Bool) throws(DatabaseError) {
        // SQLite refuses longer paths, but only after it has made an empty file.
        guard path.utf8.count <= Self.pathBytes else {
            throw DatabaseError(
                .unsafePermissions,
                "the path of the database has \(path.utf8.count) bytes; at most \(Self.pathBytes) are possible: \(path)"
            )
        }
        var status = stat()
        if stat(folder, &status) != 0 {
            guard errno == ENOENT else { throw .file("look at", folder) }
            guard creates else { throw missing }
            try Self.createPrivateFolder(folder)
            guard stat(folder, &status) == 0 else { throw .file("look at", folder) }
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw DatabaseError(.unsafePermissions, "\(folder) is not a folder")
        }
        try Self.checkOwner(folder, status)
        guard status.st_mode & 0o022 == 0 else {
            throw DatabaseError(
                .unsafePermissions,
                "others may write in \(folder) (permissions \(String(status.st_mode & 0o7777, radix: 8))); expected 700, so run chmod 700 on it"
            )
        }
    }

    /// Throws if the file belongs to another user, who can write it regardless of its mode.
    private static func checkOwner(_ path: String, _ status: stat) throws(DatabaseError) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw DatabaseError(
                .unsafePermissions,
                "\(path) belongs to user \(status.st_uid), and this program runs as user \(geteuid()): run it as its owner"
            )
        }
    }

    // MARK: Creation

    /// Creates an empty file with the permissions 600, unless there is a file already.
    package func createIfMissing() throws(DatabaseError) {
        try Self.createPrivateFile(path)
    }

    package static func createPrivateFile(_ path: String) throws(DatabaseError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            // The file exists, or another process has created it meanwhile, with the same permissions.
            if errno == EEXIST { return }
            throw .file("create", path)
        }
        close(descriptor)
    }

    /// Creates a folder and its missing parents, with the permissions 700.
    private static func createPrivateFolder(_ path: String) throws(DatabaseError) {
        if mkdir(path, 0o700) != 0 {
            if errno == ENOENT {
                let parent = DatabaseFiles(path: path).folder
                guard parent != path, parent != "." else { throw .file("create folder", path) }
                try createPrivateFolder(parent)
                guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .file("create folder", path) }
            } else if errno != EEXIST {
                throw .file("create folder", path)
            }
        }
    }

    // MARK: Contents

    /// Returns whether the database file is empty.
    ///
    /// SQLite would take a file that is shorter than its header for an empty database, and would delete the WAL beside
    /// an empty one. SQLite itself checks the contents of the header.
    ///
    /// The check does not open the file. Closing any descriptor of a file releases all locks that this process holds on
    /// it, including those of its other connections (https://sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Throws: `notADatabase` for a file that is too short, and `corrupt` for an empty one with a WAL.
    package func isEmpty() throws(DatabaseError) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw .file("look at", path) }
        guard status.st_size == 0 || status.st_size >= Self.headerBytes else {
            throw DatabaseError(
                .notADatabase, "\(path) is not an SQLite database: it has \(status.st_size) bytes, fewer than a header")
        }
        guard status.st_size == 0 else { return false }
        var walStatus = stat()
        guard lstat(wal, &walStatus) != 0 || walStatus.st_size == 0 else {
            throw DatabaseError(
                .corrupt, "\(path) is empty, but the WAL of a database is beside it: restore the database file")
        }
        return true
    }

    /// The size of the database header (https://sqlite.org/fileformat2.html#the_database_header).
    private static let headerBytes = 100
}

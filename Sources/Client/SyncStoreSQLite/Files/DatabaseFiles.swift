import Glibc
import SyncCore
import SyncModel

/// The files of one database, with permissions 0600 in a folder that nobody else can write to.
struct DatabaseFiles: Hashable, Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    var folder: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// The file name of the WAL.
    var logName: String { String((path + "-wal").split(separator: "/").last ?? "") }
    var openLock: String { path + ".lock" }
    var syncLock: String { path + ".sync" }
    /// A marker file that exists while a database is being created, when the database file may be empty.
    private var creationMark: String { path + ".creating" }

    /// The identity of the file at the path. An open database whose file was deleted or replaced must not be written.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// Returns the identity of the file; nil when there is none.
    func identity() -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Creates the folder if it is missing, for the owner only under any umask, and throws if other users could write
    /// the files.
    ///
    /// - Parameter isSalvage: whether an interrupted salvage is about to be repeated.
    func prepare(creatingIfMissing creates: Bool, forSalvage isSalvage: Bool = false) throws(StoreFailure) {
        try prepareFolder(creates: creates)
        var status = stat()
        if lstat(path, &status) != 0 {
            guard errno == ENOENT else { throw Self.failure("look at", path) }
            guard creates else {
                throw StoreFailure(.missingFile, "there is no database at \(path), and it was not to be created")
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StoreFailure(.unsafePermissions, "\(path) is not a regular file; links and devices are refused")
        }
        try Self.checkOwner(path, status)
        try checkNames(status, forSalvage: isSalvage)
        try Self.narrow(path, status)
        // A copy of a running device has them with the permissions of the copy. SQLite keeps those.
        for file in [path + "-wal", path + "-shm"] where lstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        {
            try Self.narrow(file, status)
        }
    }

    /// Sets the permissions of a file to 600.
    private static func narrow(_ path: String, _ status: stat) throws(StoreFailure) {
        guard status.st_mode & 0o7777 != 0o600, chmod(path, 0o600) != 0 else { return }
        // Another process has deleted the WAL meanwhile.
        guard errno != ENOENT else { return }
        throw StoreFailure(
            .unsafePermissions,
            "\(path) has permissions \(String(status.st_mode & 0o7777, radix: 8)), and they cannot be set to 600")
    }

    /// Throws if the database has more than one name, unless the other name is the one that a salvage gave it.
    private func checkNames(_ status: stat, forSalvage isSalvage: Bool) throws(StoreFailure) {
        guard status.st_nlink > 1 else { return }
        guard KeptFiles.hold(self) else {
            throw StoreFailure(
                .unsafePermissions,
                "\(path) has \(status.st_nlink) names (hard links), and SQLite would keep a WAL beside each; expected one name"
            )
        }
        guard isSalvage else { throw StoreFailure(.corrupt, "\(path) is damaged, and its salvage was interrupted") }
    }

    /// Throws if this process cannot write the files, before SQLite fails halfway.
    func checkWritable() throws(StoreFailure) {
        for place in [folder, path] where access(place, W_OK) != 0 {
            guard place == path, errno == ENOENT else { throw Self.failure("write", place) }
        }
    }

    /// Creates an empty file for the owner only if there is none.
    ///
    /// A marker file distinguishes it from a database that has lost its contents. Must be called under the open lock.
    func createIfMissing() throws(StoreFailure) {
        var status = stat()
        guard lstat(path, &status) != 0, errno == ENOENT else { return }
        try Self.createPrivateFile(creationMark)
        try Self.createPrivateFile(path)
    }

    /// Removes the marker file. Must be called once the database has its tables.
    func created() {
        unlink(creationMark)
    }

    private func prepareFolder(creates: Bool) throws(StoreFailure) {
        var status = stat()
        if stat(folder, &status) != 0 {
            guard errno == ENOENT, creates else {
                guard errno == ENOENT else { throw Self.failure("look at", folder) }
                throw StoreFailure(.missingFile, "there is no folder \(folder), and it was not to be created")
            }
            try Self.createPrivateFolder(folder)
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw StoreFailure(.missingFile, "\(folder) is not a folder")
        }
        try Self.checkOwner(folder, status)
        guard status.st_mode & 0o022 == 0 else {
            throw StoreFailure(
                .unsafePermissions,
                "others may write in \(folder) (permissions \(String(status.st_mode & 0o7777, radix: 8))); expected 700"
            )
        }
    }

    /// Throws if the file belongs to another user, who can write it regardless of its mode.
    private static func checkOwner(_ path: String, _ status: stat) throws(StoreFailure) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw StoreFailure(
                .unsafePermissions,
                "\(path) belongs to user \(status.st_uid), and this program runs as user \(geteuid()): run it as its owner"
            )
        }
    }

    /// Creates a folder and its missing parents.
    private static func createPrivateFolder(_ path: String) throws(StoreFailure) {
        if mkdir(path, 0o700) != 0 {
            if errno == ENOENT {
                let parent = DatabaseFiles(path: path).folder
                guard parent != path, parent != "." else { throw failure("create folder", path) }
                try createPrivateFolder(parent)
                guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create folder", path) }
            } else if errno != EEXIST {
                throw failure("create folder", path)
            }
        }
    }

    private static func createPrivateFile(_ path: String) throws(StoreFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor < 0 {
            // Another process has created it meanwhile, with the same permissions.
            if errno == EEXIST { return }
            throw failure("create", path)
        }
        close(descriptor)
    }

    /// Throws if the file is shorter than SQLite's header, or is empty while its WAL is not. SQLite would delete that
    /// WAL. SQLite itself checks the contents of the header.
    ///
    /// The check does not open the file. Closing any descriptor of a file releases all locks that this process holds on
    /// it, including those of its other connections (https://sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Parameter creates: whether an empty file may become a new database if the marker file shows that one was being
    ///   created.
    func checkSize(creatingIfMissing creates: Bool) throws(StoreFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw Self.failure("look at", path) }
        guard status.st_size == 0 || status.st_size >= Self.headerBytes else {
            throw StoreFailure(
                .notADatabase, "\(path) is not an SQLite database: it has \(status.st_size) bytes, fewer than a header")
        }
        var log = stat()
        guard status.st_size > 0 || lstat(path + "-wal", &log) != 0 || log.st_size == 0 else {
            throw StoreFailure(
                .corrupt, "\(path) is empty, and beside it is the log of a database: put back what was there")
        }
        var mark = stat()
        guard status.st_size > 0 || creates && lstat(creationMark, &mark) == 0 else {
            throw StoreFailure(
                .notADatabase, "\(path) is empty: it was never initialized, or its contents are lost")
        }
    }

    /// The size of the database header (https://sqlite.org/fileformat2.html#the_database_header).
    private static let headerBytes = 100

    static func failure(_ action: String, _ path: String, _ code: Int32 = errno) -> StoreFailure {
        let reason = String(cString: strerror(code))
        let kind: StoreFailure.Code =
            switch code {
            case ENOENT, ENOTDIR: .missingFile
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .diskFull
            case ELOOP: .unsafePermissions
            default: .inputOutput
            }
        return StoreFailure(kind, "could not \(action) \(path): \(reason)")
    }
}

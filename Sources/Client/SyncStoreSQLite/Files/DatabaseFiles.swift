import Glibc
import SyncCore
import SyncModel

/// The files of one database and their permissions: 0600 in a folder that nobody else may write.
struct DatabaseFiles: Hashable, Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    var folder: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// The name of the log in the folder.
    var logName: String { String((path + "-wal").split(separator: "/").last ?? "") }
    var openLock: String { path + ".lock" }
    var syncLock: String { path + ".sync" }
    /// Stands beside a database that is being made: its file may be empty.
    private var creationMark: String { path + ".creating" }

    /// Which file stands at the path: an open database whose file was deleted or replaced must not be written.
    struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    /// Nil when there is no file.
    func identity() -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Makes the folder when it is missing, for the owner alone under any umask, and refuses what others could write.
    ///
    /// - Parameter isSalvage: whether a salvage that was interrupted is to be done again.
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
        guard status.st_mode & 0o7777 != 0o600 else { return }
        guard chmod(path, 0o600) == 0 else {
            throw StoreFailure(
                .unsafePermissions,
                "\(path) has permissions \(String(status.st_mode & 0o7777, radix: 8)), and they cannot be set to 600")
        }
    }

    /// Refuses a database with more than one name, unless the other is that under which a salvage keeps it.
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

    /// Refuses what this process may not write, before SQLite meets it half-way.
    func checkWritable() throws(StoreFailure) {
        for place in [folder, path] where access(place, W_OK) != 0 {
            guard place == path, errno == ENOENT else { throw Self.failure("write", place) }
        }
    }

    /// Makes an empty file for the owner alone when there is none, with a mark beside it, which tells it from a file that has
    /// lost what it held. Called under the lock of opening.
    func createIfMissing() throws(StoreFailure) {
        var status = stat()
        guard lstat(path, &status) != 0, errno == ENOENT else { return }
        try Self.createPrivateFile(creationMark)
        try Self.createPrivateFile(path)
    }

    /// Called when the database has its tables.
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

    /// Refuses what belongs to another user, who may write it whatever its mode says.
    private static func checkOwner(_ path: String, _ status: stat) throws(StoreFailure) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw StoreFailure(
                .unsafePermissions,
                "\(path) belongs to user \(status.st_uid), and this program runs as user \(geteuid()): run it as its owner"
            )
        }
    }

    /// Makes a folder and those above it that are missing.
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
            // Another process was faster, under the same rules.
            if errno == EEXIST { return }
            throw failure("create", path)
        }
        close(descriptor)
    }

    /// Refuses a file that is shorter than SQLite's header, before SQLite touches it, and an empty one beside a log: SQLite would
    /// delete the log. The header itself is SQLite's to check.
    ///
    /// The file is not opened for that. When any descriptor of it is closed, the kernel takes all locks from this process that
    /// another connection of it may have on the file (https://sqlite.org/howtocorrupt.html, 2.2).
    ///
    /// - Parameter creates: whether an empty file becomes a new database where a mark tells that one was about to be made.
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

    /// https://sqlite.org/fileformat2.html#the_database_header
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

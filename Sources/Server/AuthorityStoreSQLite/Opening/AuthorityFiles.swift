import Glibc
import SyncAuthority

/// The files of a server's database. Only the server may access them: mode 0600, in a folder to which no other user may
/// write.
struct AuthorityFiles: Hashable, Sendable {
    let path: String

    /// The path of the lock file. The process that holds its lock serves the database; the existence of the file means
    /// nothing.
    var servingLock: String { path + "-serving" }

    /// The path of the mark, in which a running server records the heads of its change feeds. Beside an empty database,
    /// it proves that data was lost.
    private var mark: String { path + "-mark" }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Creates missing files and folders with narrow permissions under any umask, and rejects those to which others
    /// could write.
    ///
    /// SQLite gives its WAL and its shared memory the permissions of the database.
    func prepare(creating: Bool) throws(AuthorityStoreFailure) {
        guard !path.isEmpty, !path.hasPrefix(":"), !path.hasPrefix("file:") else {
            throw AuthorityStoreFailure(.missingFile, "'\(path)' is not the path of a file")
        }
        try prepareFolder(creating: creating)
        try prepareFile(path, creating: creating)
    }

    private var missing: AuthorityStoreFailure {
        AuthorityStoreFailure(.noDatabase, "there is no database at \(path), and it was not to be created")
    }

    private func prepareFolder(creating: Bool) throws(AuthorityStoreFailure) {
        let folder = Self.folder(of: path)
        var status = stat()
        if stat(folder, &status) != 0 {
            guard errno == ENOENT else { throw .file(folder, "look at") }
            guard creating else { throw missing }
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw .file(folder, "make the folder") }
            guard stat(folder, &status) == 0 else { throw .file(folder, "look at") }
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw AuthorityStoreFailure(.missingFile, "\(folder) is not a folder")
        }
        // The owner of a folder can write to it, whatever its mode.
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw AuthorityStoreFailure(
                .unsafePermissions,
                "\(folder) belongs to user \(status.st_uid), and this program runs as user \(geteuid()): run it as the folder's owner"
            )
        }
        guard status.st_mode & 0o022 == 0 else {
            throw AuthorityStoreFailure(
                .unsafePermissions,
                "others may write in \(folder) (permissions \(String(status.st_mode & 0o7777, radix: 8))); expected 700, so run chmod 700 on it"
            )
        }
    }

    private func prepareFile(_ path: String, creating: Bool) throws(AuthorityStoreFailure) {
        var status = stat()
        if lstat(path, &status) != 0 {
            guard errno == ENOENT else { throw .file(path, "look at") }
            guard creating else { throw missing }
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw .file(path, "make") }
            close(descriptor)
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw AuthorityStoreFailure(.unsafePermissions, "\(path) is not a regular file; links are refused")
        }
        guard status.st_nlink <= 1 else {
            throw AuthorityStoreFailure(
                .unsafePermissions,
                "\(path) has \(status.st_nlink) names (hard links), and SQLite would keep a WAL beside each; expected one name"
            )
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw AuthorityStoreFailure(
                .unsafePermissions,
                "\(path) belongs to user \(status.st_uid), and this program runs as user \(geteuid()): run it as the file's owner"
            )
        }
        guard status.st_mode & 0o077 == 0 || chmod(path, 0o600) == 0 else { throw .file(path, "protect") }
    }

    /// Checks the header of the database file before SQLite opens it.
    ///
    /// SQLite would treat a short file as an empty database, and would delete the WAL beside a database file that has
    /// lost its contents.
    ///
    /// Call this only under the serving lock: closing any descriptor of the file releases all locks that this process
    /// holds on it.
    func checkHeader(creating: Bool) throws(AuthorityStoreFailure) {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path, "open") }
        defer { close(descriptor) }
        var header = [UInt8](repeating: 0, count: 16)
        let count = Glibc.read(descriptor, &header, header.count)
        guard count >= 0 else { throw .file(path, "read") }
        if count == 0 {
            var log = stat()
            guard stat(path + "-wal", &log) != 0 || log.st_size == 0 else {
                throw AuthorityStoreFailure(
                    .corrupt, "\(path) is empty, and beside it is the log of a database: its contents are lost")
            }
            guard access(mark, F_OK) != 0 else {
                throw AuthorityStoreFailure(
                    .corrupt,
                    "\(path) is empty, and \(mark) beside it says that a server has run: its contents are lost")
            }
            // An earlier start failed before SQLite wrote to the file.
            guard creating else { throw missing }
            return
        }
        guard header.elementsEqual("SQLite format 3\0".utf8) else {
            throw AuthorityStoreFailure(
                .notADatabase, "\(path) is not an SQLite database: it does not begin with SQLite's header")
        }
    }
}

extension AuthorityStoreFailure {
    /// Returns the failure of a system call, according to `errno`.
    static func file(_ path: String, _ verb: String) -> AuthorityStoreFailure {
        let number = errno
        let code: Code =
            switch number {
            case ENOENT, ENOTDIR: .missingFile
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .diskFull
            case ELOOP: .unsafePermissions
            default: .inputOutput
            }
        return AuthorityStoreFailure(code, "cannot \(verb) \(path): \(String(cString: strerror(number)))")
    }
}

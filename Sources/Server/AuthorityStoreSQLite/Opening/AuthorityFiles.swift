import Glibc
import SyncAuthority

/// The files of a server's database: for the server alone, 0600 in a folder that nobody else may write.
struct AuthorityFiles: Hashable, Sendable {
    let path: String

    /// Its existence says nothing; who holds its lock serves the database.
    var servingLock: String { path + "-serving" }

    /// A server that has run writes how far it came into this file. Beside an empty database it proves that something was lost.
    private var mark: String { path + "-mark" }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes what is missing, with narrow permissions under any umask, and refuses what others could write. SQLite
    /// gives its log and its shared memory the permissions of the database.
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
        // Its owner may write in it, whatever its mode says.
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

    /// Looks at the first bytes before SQLite does: it would take a short file for an empty database, and delete the log beside
    /// one that has lost its bytes.
    ///
    /// Only under the serving lock: whoever closes a descriptor of the file ends the locks that this process has on it.
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
            // Left behind by a start that did not get far.
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
    /// The failure of a system call, by `errno`.
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

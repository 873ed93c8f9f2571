import CSQLite
import Glibc

/// The error of an operation that a database or its files could not carry out. Each store converts it to the error of
/// its port.
package struct DatabaseError: Error, CustomStringConvertible {
    package enum Code: Hashable, Sendable, CaseIterable {
        /// Another connection holds the database longer than the busy timeout.
        case busy
        case diskFull
        /// A limit of this process does not allow a longer file.
        case fileTooLarge
        case readOnly
        /// SQLite cannot open the database, its WAL, or the WAL's index.
        case cannotOpen
        /// A file or folder does not exist.
        case missingFile
        /// There is no database, and the caller did not ask to create one.
        case noDatabase
        /// The files are not safe to use: another user can write them, the path leads to a link or a device or is too
        /// long, or the file has several names.
        case unsafePermissions
        case notADatabase
        case corrupt
        /// The data violates a constraint of the schema.
        case constraint
        case tooLarge
        /// The database belongs to another program.
        case otherSchema
        /// A newer build has migrated the database.
        case newerSchema
        /// SQLite did not accept a setting on which the durability of commits depends.
        case notDurable
        case closed
        case inputOutput
    }

    package let code: Code
    private let text: String
    /// The action that SQLite could not carry out, and its extended result code; nil for an error of this module.
    private let sqlite: (action: String, code: Int32)?

    package init(_ code: Code, _ message: String) {
        self.code = code
        text = message
        sqlite = nil
    }

    /// The error for an SQLite result code.
    package init(_ result: Int32, _ message: String? = nil, while action: String) {
        let message = message ?? String(cString: sqlite3_errstr(result))
        code = Self.code(of: result, message)
        text = message
        sqlite = (action, result)
    }

    /// The error for an SQLite result code, with the connection's message.
    init(_ result: Int32, of connection: OpaquePointer, while action: String) {
        if result & 0xFF == SQLITE_CANTOPEN, let lack = Self.lack(for: connection) {
            (code, text) = lack
            sqlite = (action, result)
            return
        }
        let isTooLarge = result & 0xFF == SQLITE_IOERR && Self.reachesFileLimit(connection)
        code = isTooLarge ? .fileTooLarge : Self.code(of: result, String(cString: sqlite3_errmsg(connection)))
        text =
            isTooLarge
            ? "a limit of this process on the size of files (ulimit -f) was reached"
            : String(cString: sqlite3_errmsg(connection))
        sqlite = (action, result)
    }

    /// Returns the error for a file that could not be opened because the system lacks something; nil for other reasons,
    /// such as permissions.
    ///
    /// SQLite does not keep the reason of the system: it tries to open a new file once more, as one to read.
    private static func lack(for connection: OpaquePointer) -> (code: Code, text: String)? {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if descriptor >= 0 {
            close(descriptor)
        } else if errno == EMFILE || errno == ENFILE {
            let owner = errno == EMFILE ? "this process" : "the system"
            return (.inputOutput, "\(owner) has too many open files")
        }
        var disk = statvfs()
        guard let name = sqlite3_db_filename(connection, "main"), statvfs(name, &disk) == 0 else { return nil }
        // Some file systems make inodes as they need them, and count none.
        guard disk.f_files > 0, disk.f_favail == 0 else { return nil }
        return (.diskFull, "the file system has no inode for another file")
    }

    /// Whether the database or its WAL has no room for another write under the process's limit on the size of files.
    ///
    /// SQLite reports such a write like that to a broken disk, and for a commit it does not keep the reason of the
    /// system.
    private static func reachesFileLimit(_ connection: OpaquePointer) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0,
            let name = sqlite3_db_filename(connection, "main")
        else { return false }
        let largestWrite: UInt64 = 64 * 1_024
        return ["", "-wal"].contains { suffix in
            var status = stat()
            guard stat(String(cString: name) + suffix, &status) == 0 else { return false }
            return UInt64(clamping: status.st_size) + largestWrite >= UInt64(limit.rlim_cur)
        }
    }

    /// Whether SQLite reported the error, rather than a check of this module.
    package var isFromSQLite: Bool { sqlite != nil }

    /// Whether SQLite gave its generic error, which stands for an invalid statement or an unknown file format.
    var isGeneric: Bool { sqlite?.code == SQLITE_ERROR }

    package var message: String {
        guard let sqlite else { return text }
        return "SQLite could not \(sqlite.action): \(text) (code \(sqlite.code))"
    }

    package var description: String { message }

    /// Returns the error with `action` as the operation that SQLite could not carry out. An error of this module stays
    /// unchanged.
    package func during(_ action: String) -> DatabaseError {
        sqlite.map { DatabaseError($0.code, text, while: action) } ?? self
    }

    /// The error for a failed system call.
    package static func file(_ action: String, _ path: String, _ number: Int32 = errno) -> DatabaseError {
        let code: Code =
            switch number {
            case ENOENT, ENOTDIR: .missingFile
            case EACCES, EPERM, EROFS: .readOnly
            case ENOSPC, EDQUOT: .diskFull
            case EFBIG: .fileTooLarge
            case ELOOP: .unsafePermissions
            default: .inputOutput
            }
        return DatabaseError(code, "could not \(action) \(path): \(String(cString: strerror(number)))")
    }

    /// Whether a statement failed because the database lacks a table, a column, or a function, or already has a table
    /// or a column that the statement adds.
    ///
    /// The statements of the stores fit the schema version that the database has recorded, so its schema is damaged.
    private static func contradictsSchema(_ result: Int32, _ message: String) -> Bool {
        guard result == SQLITE_ERROR else { return false }
        return message.hasPrefix("no such table: ") || message.hasPrefix("no such column: ")
            || message.hasPrefix("duplicate column name: ") || message.hasSuffix(" already exists")
            || message.contains(" has no column named ") || message.hasPrefix("no such function: ")
    }

    private static func code(of result: Int32, _ message: String) -> Code {
        contradictsSchema(result, message) ? .corrupt : code(of: result)
    }

    /// Returns the code for an SQLite result code.
    package static func code(of result: Int32) -> Code {
        switch result & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .diskFull
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: .readOnly
        case SQLITE_CANTOPEN: .cannotOpen
        case SQLITE_NOTADB: .notADatabase
        case SQLITE_CORRUPT: .corrupt
        case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT: .constraint
        case SQLITE_TOOBIG: .tooLarge
        // SQLite cannot grow the WAL index. SQLite reports a full disk with this code before it writes anything.
        case SQLITE_IOERR where result == Self.noRoomForWALIndex: .diskFull
        default: .inputOutput
        }
    }

    /// SQLITE_IOERR_SHMSIZE, a C macro that Swift cannot import.
    private static let noRoomForWALIndex = SQLITE_IOERR | 19 << 8
}

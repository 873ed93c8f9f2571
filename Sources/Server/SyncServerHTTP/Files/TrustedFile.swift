#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file that decides who may use the server: only the server's user or root may own it and change it.
enum TrustedFile {
    /// The access that other users may have.
    enum Access: Hashable, Sendable {
        /// None, because the contents are secret.
        case none
        /// Reading, because the contents are public.
        case read
    }

    /// Opens a file for reading, like open(2). A symbolic link is not followed, and a named pipe is not waited for.
    static let openFile: @Sendable (_ path: String) -> Int32 = { path in
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - contents: a description of the expected contents, for the error about anything but a regular file.
    ///   - ofAnyOwner: whether to accept the file of any user.
    ///   - limit: the maximum length in bytes.
    /// - Returns: the stamp of the file that was read, and its contents.
    static func read(
        _ path: String, expecting contents: String, othersMay access: Access, ofAnyOwner: Bool = false, limit: Int,
        _ openFile: (String) -> Int32
    ) throws(TrustedFileError) -> (FileStamp, [UInt8]) {
        let file = openFile(path)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw TrustedFileError(path, cannotBeRead: errno) }
            throw TrustedFileError("\(path) does not exist", isMissing: true)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw TrustedFileError(path, cannotBeRead: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TrustedFileError("\(path) is not a regular file; expected one with \(contents)")
        }
        if !ofAnyOwner { try requireOwner(status, path) }
        switch access {
        case .none:
            guard status.st_mode & 0o077 == 0 else {
                throw TrustedFileError("\(path) is open to others: expected mode 0600, so run chmod 600 on it")
            }
        case .read: try requireUnwritable(status, path)
        }
        try checkLength(Int(status.st_size), limit, path)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count >= 0 else { throw TrustedFileError(path, cannotBeRead: errno) }
            guard count > 0, bytes.count <= limit else { break }
            bytes += buffer[..<count]
        }
        try checkLength(bytes.count, limit, path)
        return (FileStamp(status), bytes)
    }

    static func checkLength(_ count: Int, _ limit: Int, _ path: String) throws(TrustedFileError) {
        guard count <= limit else {
            throw TrustedFileError("\(path) is longer than \(limit) bytes; expected a shorter file")
        }
    }

    /// Throws unless the server's user or root owns the file or folder.
    static func requireOwner(_ status: stat, _ path: String) throws(TrustedFileError) {
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TrustedFileError(
                "\(path) belongs to user \(status.st_uid); expected the user that runs the server (\(geteuid())) or root, so run chown on it"
            )
        }
    }

    /// Throws if others may write in the file or folder.
    static func requireUnwritable(_ status: stat, _ path: String) throws(TrustedFileError) {
        guard status.st_mode & 0o022 == 0 else {
            throw TrustedFileError("others may write in \(path): run chmod go-w on it")
        }
    }
}

/// An error in a file that decides who may use the server. It reveals nothing of the file's contents.
struct TrustedFileError: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String
    let isMissing: Bool
    /// Whether the system could not read the file, so that the same file may be readable later.
    let mayPass: Bool

    init(_ description: String, isMissing: Bool = false) {
        self.description = description
        self.isMissing = isMissing
        mayPass = false
    }

    init(_ path: String, cannotBeRead code: Int32) {
        description = "\(path) cannot be read: \(String(cString: strerror(code)))"
        isMissing = false
        mayPass = true
    }
}

/// A stamp that distinguishes states of a file.
struct FileStamp: Equatable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    /// The times of the last change to the contents, and to the owner or the permissions, in seconds and nanoseconds.
    let times: [Int]

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }

    /// Returns nil when the status of the file cannot be read, usually because it does not exist.
    init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}

import Crypto
public import Logging
public import SyncAuthority
import SyncConcurrency
import SyncModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An authenticator that reads bearer tokens from a file.
///
/// Each line contains a principal, white space, and the SHA-256 hash of its token in hexadecimal. Empty lines and lines
/// that begin with `#` are ignored. The file contains only hashes, so that a copy of it grants no access. Only its
/// owner may have access to it (0600), and the owner must be the server's user or root.
///
/// A changed file is read again at the next request. If it is then invalid, the earlier tokens remain valid; if it is
/// missing, no token is valid. If the system cannot read it, the earlier tokens remain valid, and each request tries
/// again. Each event is logged once, however many requests arrive.
public final class TokenFile: Authenticator {
    private struct State: Sendable {
        /// The stamp of the file when it was last read or found missing.
        var stamp: FileStamp?
        var principals: [[UInt8]: Principal] = [:]
        /// Whether the file with this stamp could not be read, for a reason that may pass.
        var mustReadAgain = false
    }

    private let path: String
    private let logger: Logger
    private let openFile: @Sendable (_ path: String) -> Int32
    private let state: Guarded<State>

    /// Reads the file. Throws `TokenFileError` when the file is invalid or has no token.
    public convenience init(path: String, logger: Logger) throws(TokenFileError) {
        try self.init(path: path, logger: logger, openFile: Self.openFile)
    }

    /// - Parameter openFile: opens the file for reading, like the system's function.
    init(
        path: String, logger: Logger, openFile: @escaping @Sendable (_ path: String) -> Int32
    ) throws(TokenFileError) {
        self.path = path
        self.logger = logger
        self.openFile = openFile
        let (stamp, _, principals) = try Self.read(path, openFile)
        guard !principals.isEmpty else {
            throw TokenFileError("\(path) has no token, so nobody could use the server", hasNoToken: true)
        }
        state = Guarded(State(stamp: stamp, principals: principals))
    }

    public func principal(bearing token: String) -> Principal? {
        guard token.utf8.count <= SyncServerLimits.tokenBytes else { return nil }
        refresh()
        // Look up the hash, so that the time it takes reveals nothing about the tokens.
        let digest = Self.hash(of: token)
        return state.withLock { state in state.principals[digest] }
    }

    private static let openFile: @Sendable (_ path: String) -> Int32 = { path in
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    }

    /// Returns the line of the file for a token.
    public static func line(principal: String, token: String) -> String {
        "\(principal) \(Hexadecimal.text(of: hash(of: token)))"
    }

    private static func hash(of token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }

    private func refresh() {
        let stamp = FileStamp(path: path)
        // Of many concurrent requests, only the one that changes the state reads the file and logs.
        let isChanged: Bool? = state.withLock { state in
            let isChanged = state.stamp != stamp
            guard isChanged || state.mustReadAgain else { return nil }
            state.stamp = stamp
            state.mustReadAgain = false
            if stamp == nil { state.principals = [:] }
            return isChanged
        }
        guard let isChanged else { return }
        guard stamp != nil else {
            logger.error(
                "the token file is missing: no token is accepted until it exists again", metadata: ["path": "\(path)"])
            return
        }
        do throws(TokenFileError) {
            let (stamp, _, principals) = try Self.read(path, openFile)
            state.withLock { state in state = State(stamp: stamp, principals: principals) }
            logger.notice("the token file was read again", metadata: ["tokens": "\(principals.count)"])
        } catch {
            let kept = state.withLock { state in
                // A token may have been taken out, so an error that passes must not leave the file unread.
                if error.mayPass, state.stamp == stamp { state.mustReadAgain = true }
                return state.principals.count
            }
            guard isChanged || !error.mayPass else { return }
            logger.error(
                "the token file cannot be used: the earlier tokens stay accepted",
                metadata: ["error": "\(error)", "tokens": "\(kept)"])
        }
    }

    /// Returns the bytes of a file that a server accepts, and the principals in it, for a program that changes the file.
    ///
    /// The checks are those of a server, except that root may change the file of any user.
    package static func accepted(
        at path: String
    ) throws(TokenFileError) -> (bytes: [UInt8], principals: [[UInt8]: Principal]) {
        let (_, bytes, principals) = try read(path, openFile, ofAnyOwner: geteuid() == 0)
        return (bytes, principals)
    }

    private static func read(
        _ path: String, _ openFile: (String) -> Int32, ofAnyOwner: Bool = false
    ) throws(TokenFileError) -> (FileStamp, bytes: [UInt8], principals: [[UInt8]: Principal]) {
        let file = openFile(path)
        guard file >= 0 else {
            guard errno == ENOENT || errno == ENOTDIR else { throw TokenFileError(path, cannotBeRead: errno) }
            throw TokenFileError("\(path) does not exist", hasNoToken: true)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw TokenFileError(path, cannotBeRead: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TokenFileError("\(path) is not a regular file; expected one with a principal and a hash in each line")
        }
        guard ofAnyOwner || status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenFileError(
                "\(path) belongs to user \(status.st_uid); expected the user that runs the server (\(geteuid())) or root, so run chown on it"
            )
        }
        guard status.st_mode & 0o077 == 0 else {
            throw TokenFileError("\(path) is open to others: expected mode 0600, so run chmod 600 on it")
        }
        try checkSize(Int(status.st_size), path)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while true {
            let count = Glibc.read(file, &buffer, buffer.count)
            guard count >= 0 else { throw TokenFileError(path, cannotBeRead: errno) }
            guard count > 0, bytes.count <= SyncServerLimits.tokenFileBytes else { break }
            bytes += buffer[..<count]
        }
        try checkSize(bytes.count, path)
        return (FileStamp(status), bytes, try parse(String(decoding: bytes, as: UTF8.self), path))
    }

    /// Throws if a server would not accept a file with this text.
    package static func check(_ text: String, _ path: String) throws(TokenFileError) {
        try checkSize(text.utf8.count, path)
        _ = try parse(text, path)
    }

    private static func checkSize(_ count: Int, _ path: String) throws(TokenFileError) {
        guard count <= SyncServerLimits.tokenFileBytes else {
            throw TokenFileError(
                "\(path) is longer than \(SyncServerLimits.tokenFileBytes) bytes; expected a shorter file, so take out lines that nobody needs"
            )
        }
    }

    package static func parse(_ text: String, _ path: String) throws(TokenFileError) -> [[UInt8]: Principal] {
        var principals: [[UInt8]: Principal] = [:]
        // Lines may end with CRLF, which is one Character, so splitting at "\n" would return a single line.
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2, first.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                let digest = Hexadecimal.bytes(words[1]), digest.count == 32
            else {
                // The message does not show the line, because someone may have put a token into it.
                throw TokenFileError(
                    "\(path), line \(index + 1): expected a principal and the SHA-256 of its token in 64 hexadecimal digits"
                )
            }
            guard principals.updateValue(Principal(name: String(first)), forKey: digest) == nil else {
                throw TokenFileError("\(path), line \(index + 1): this token occurs twice")
            }
        }
        return principals
    }
}

/// An error in a token file. It reveals nothing of the file's contents.
public struct TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// Whether the file is missing or has no token: none has been created yet, all were removed, or the path is wrong.
    public let hasNoToken: Bool
    /// Whether the system could not read the file, so that the same file may be readable later.
    let mayPass: Bool

    init(_ description: String, hasNoToken: Bool = false) {
        self.description = description
        self.hasNoToken = hasNoToken
        mayPass = false
    }

    init(_ path: String, cannotBeRead code: Int32) {
        description = "\(path) cannot be read: \(String(cString: strerror(code)))"
        hasNoToken = false
        mayPass = true
    }
}

/// A stamp that distinguishes states of a file.
private struct FileStamp: Equatable, Sendable {
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

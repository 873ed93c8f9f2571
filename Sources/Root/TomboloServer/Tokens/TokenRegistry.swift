import Foundation
import Glibc
import SyncAuthority
import SyncModel
public import SyncProgram
import SyncRuntimeLive
import SyncServerHTTP

/// Adds and removes the tokens that a server accepts.
///
/// The file contains only the hashes of the tokens. A running server notices a changed file and reads it again.
public struct TokenRegistry: Sendable {
    private let path: String
    private let random: @Sendable () -> UInt64

    /// Creates a registry over the file at `path`.
    ///
    /// - Parameter random: an unpredictable random source.
    init(path: String, random: @escaping @Sendable () -> UInt64) {
        self.path = path
        self.random = random
    }

    /// Creates a token for a principal, delivers it, and stores its hash. The token itself cannot be recovered later.
    ///
    /// - Parameter deliver: is called with the token before the server accepts it, so that no accepted token is lost.
    ///   If it throws, nothing is stored. If storing fails, the delivered token is worthless.
    public func add(_ principal: String, delivering deliver: (Token) throws -> Void) throws {
        guard Principal.isValidName(principal) else {
            throw ConfigurationError(
                "'\(principal.prefix(128))' is not a valid name of a principal; expected up to 128 visible ASCII characters that do not begin with #"
            )
        }
        // Create the folder first, so that a failure comes before the token is delivered.
        try PrivateFolder.make(folder, for: "authority.token-file")
        // A token has 256 random bits.
        let secret = (0..<4).map { _ in Hexadecimal.text(of: random()) }.joined()
        try deliver(Token(secret))
        try change { lines in lines + [TokenFile.line(principal: principal, token: secret)] }
    }

    /// Revokes all tokens of a principal, and returns their number.
    public func remove(_ principal: String) throws(ConfigurationError) -> Int {
        var count = 0
        try change { lines in
            let kept = lines.filter { Self.principal(of: $0) != principal }
            count = lines.count - kept.count
            return kept
        }
        return count
    }

    /// Returns all principals with tokens and the number of their tokens, ordered by name.
    public func principals() throws(ConfigurationError) -> [(name: String, tokens: Int)] {
        var counts: [String: Int] = [:]
        for line in try read() { if let name = Self.principal(of: line) { counts[name, default: 0] += 1 } }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func principal(of line: String) -> String? {
        guard let word = line.split(whereSeparator: \.isWhitespace).first, !word.hasPrefix("#") else { return nil }
        return String(word)
    }

    // MARK: The file

    private var folder: String { PrivateFolder.containing(path) }

    /// Returns the lines of the file; none when there is no file.
    private func read() throws(ConfigurationError) -> [String] {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return [] }
            throw failure("read", code)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationError(
                "authority.token-file: \(path) cannot be read, because it is not a regular file; expected a text file of principals and hashes"
            )
        }
        guard let bytes = try? handle.readToEnd() ?? Data(), let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(
                "authority.token-file: \(path) cannot be read as UTF-8; expected a text file of principals and hashes")
        }
        // This also splits lines that end with CRLF, which is one `Character`.
        return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init).dropLastEmpty
    }

    /// Rewrites the file atomically, one process at a time.
    ///
    /// A reader sees either the old lines or the new ones. Other users can read neither, under any umask. The owner
    /// stays, so that the server can still read a file that root has changed.
    private func change(_ body: ([String]) -> [String]) throws(ConfigurationError) {
        try PrivateFolder.make(folder, for: "authority.token-file")
        let lock = try takeLock(in: folder)
        defer { close(lock) }
        let old = try read()
        let new = body(old)
        guard new != old else { return }
        try replace(by: new.map { $0 + "\n" }.joined(), in: folder)
    }

    /// Waits for the lock. Closing the descriptor releases it.
    ///
    /// The file of the lock gets the owner of the token file, so that the server's own account can open it after root
    /// has used it.
    private func takeLock(in folder: String) throws(ConfigurationError) -> Int32 {
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure("locked", errno) }
        if let owner = ownerToKeep(in: folder) {
            var status = stat()
            // The owner of the folder may have linked another user's file to this name. Such a file is not given away.
            if fstat(lock, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
                fchown(lock, owner.user, owner.group) != 0
            {
                let code = errno
                close(lock)
                throw failure("locked", code)
            }
        }
        while flock(lock, LOCK_EX) != 0 {
            let code = errno
            if code == EINTR { continue }
            close(lock)
            throw failure("locked", code)
        }
        return lock
    }

    private func replace(by text: String, in folder: String) throws(ConfigurationError) {
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("written", errno) }
        var code = ByteSink(descriptor: file).write(text)
        if code == nil, let owner = ownerToKeep(in: folder), fchown(file, owner.user, owner.group) != 0 { code = errno }
        if code == nil, fsync(file) != 0 { code = errno }
        close(file)
        if code == nil, rename(temporary, path) != 0 { code = errno }
        if let code {
            unlink(temporary)
            throw failure("written", code)
        }
        if let code = PrivateFolder.flush(folder) { throw failure("flushed", code) }
    }

    /// Returns the owner of the file, or of the folder if there is no file yet; nil if this user cannot give files
    /// away.
    private func ownerToKeep(in folder: String) -> (user: uid_t, group: gid_t)? {
        var status = stat()
        guard geteuid() == 0, lstat(path, &status) == 0 || stat(folder, &status) == 0 else { return nil }
        return (status.st_uid, status.st_gid)
    }

    private func failure(_ verb: String, _ code: Int32) -> ConfigurationError {
        ConfigurationError("authority.token-file: \(path) cannot be \(verb): \(String(cString: strerror(code)))")
    }
}

extension [String] {
    /// Returns the array without the empty element after the last line break.
    fileprivate var dropLastEmpty: [String] {
        last?.isEmpty == true ? Array(dropLast()) : self
    }
}

extension Token {
    /// Writes the token into a new file that only its owner can read. Throws if the file exists. On an error, no file
    /// is left.
    public func write(to path: String) throws(ConfigurationError) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw ConfigurationError("\(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        let code = ByteSink(descriptor: file).write(secret + "\n")
        close(file)
        if let code {
            unlink(path)
            throw ConfigurationError("\(path) cannot be written: \(String(cString: strerror(code)))")
        }
    }
}

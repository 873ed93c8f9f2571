import Foundation
import Glibc
import SyncAuthority
import SyncModel
public import SyncProgram
import SyncRuntimeLive
import SyncServerHTTP

/// Adds and removes the tokens that a server accepts.
///
/// The file contains only the hashes of the tokens. A running server notices a changed file and reads it again. A file
/// that a server does not accept is neither read nor changed, because its tokens could not be revoked.
public struct TokenRegistry: Sendable {
    private let path: String
    /// Whether the tokens have an effect, because no rule of the application authenticates requests.
    private let haveEffect: Bool
    private let random: @Sendable () -> UInt64

    /// Creates a registry over the file at `path`.
    ///
    /// - Parameter random: an unpredictable random source.
    init(path: String, haveEffect: Bool = true, random: @escaping @Sendable () -> UInt64) {
        self.path = path
        self.haveEffect = haveEffect
        self.random = random
    }

    /// Creates a token for a principal, stores its hash, and delivers it. The token itself cannot be recovered later.
    ///
    /// - Parameter deliver: is called with the token after its hash was stored, so that no worthless token is
    ///   delivered. If it throws, the token is revoked again, so that no accepted token is lost.
    public func add(_ principal: String, delivering deliver: (Token) throws -> Void) throws {
        let token = try newToken(of: principal)
        try store(token, of: principal)
        do {
            try deliver(token)
        } catch {
            try withdraw(token, of: principal, after: error)
            throw error
        }
    }

    /// Creates a token for a principal, writes it into a new file that only its owner can read, and stores its hash.
    ///
    /// If storing fails, the file is removed. If writing fails, nothing is stored.
    public func add(_ principal: String, writingTo output: String) throws(ConfigurationError) {
        let token = try newToken(of: principal)
        try token.write(to: output)
        do throws(ConfigurationError) {
            try store(token, of: principal)
        } catch {
            unlink(output)
            throw error
        }
    }

    /// Returns a token with 256 random bits.
    private func newToken(of principal: String) throws(ConfigurationError) -> Token {
        guard haveEffect else {
            throw ConfigurationError(
                "this program authenticates tokens by its own rule, so a token of the file would have no effect",
                advice: "get a token where that rule takes them from")
        }
        guard Principal.isValidName(principal) else {
            throw ConfigurationError(
                "'\(principal.prefix(128))' is not a valid name of a principal; expected up to 128 visible ASCII characters that do not begin with #"
            )
        }
        return Token(Hexadecimal.secret(from: random))
    }

    private func store(_ token: Token, of principal: String) throws(ConfigurationError) {
        let line = TokenFile.line(principal: principal, token: token.secret)
        do throws(ConfigurationError) {
            try change { lines in lines + [line] }
        } catch {
            // The changed file is in place if only the flush of its folder failed.
            try withdraw(token, of: principal, after: error)
            throw error
        }
    }

    /// Revokes a token that nobody has received.
    ///
    /// - Throws: an error that names both failures if that fails, too.
    private func withdraw(
        _ token: Token, of principal: String, after failure: any Error
    ) throws(ConfigurationError) {
        let line = TokenFile.line(principal: principal, token: token.secret)
        do throws(ConfigurationError) {
            try change { lines in lines.filter { $0 != line } }
        } catch {
            let first = (failure as? ConfigurationError)?.message ?? "\(failure)"
            throw ConfigurationError(
                "a token of \(principal) may have been added that nobody has, because of two failures: \(first); \(error.message)",
                advice: "\(ServerOptions.program.name) token remove \(principal) revokes all its tokens")
        }
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
        for principal in try read().principals { counts[principal.name, default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func principal(of line: String) -> String? {
        guard let word = line.split(whereSeparator: \.isWhitespace).first, !word.hasPrefix("#") else { return nil }
        return String(word)
    }

    // MARK: The file

    private var folder: String { PrivateFolder.containing(path) }

    /// Returns the lines of the file, and the principal of each token; none when there is no file.
    private func read() throws(ConfigurationError) -> (lines: [String], principals: [Principal]) {
        let bytes: [UInt8]
        let principals: [[UInt8]: Principal]
        do throws(TokenFileError) {
            (bytes, principals) = try TokenFile.accepted(at: path)
        } catch {
            guard error.hasNoToken else { throw ConfigurationError("authority.token-file: \(error)") }
            return ([], [])
        }
        // A server ignores comments, whatever their encoding, but rewriting them would change their bytes.
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationError(
                "authority.token-file: \(path) cannot be read as UTF-8; expected a text file of principals and hashes")
        }
        // This also splits lines that end with CRLF, which is one `Character`.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        return (lines.dropLastEmpty, Array(principals.values))
    }

    /// Rewrites the file atomically, one process at a time.
    ///
    /// A reader sees either the old lines or the new ones. Other users can read neither, under any umask. The owner
    /// stays, so that the server can still read a file that root has changed.
    private func change(_ body: ([String]) -> [String]) throws(ConfigurationError) {
        try PrivateFolder.make(folder, for: "authority.token-file")
        let lock = try takeLock(in: folder)
        defer { close(lock) }
        let old = try read().lines
        let new = body(old)
        guard new != old else { return }
        let text = new.map { $0 + "\n" }.joined()
        do throws(TokenFileError) {
            try TokenFile.check(text, path)
        } catch {
            throw ConfigurationError(
                "authority.token-file: nothing was changed, because a server would not accept the changed file: \(error)"
            )
        }
        try replace(by: text, in: folder)
    }

    /// Waits for the lock. Closing the descriptor releases it.
    ///
    /// The file of the lock gets the owner of the token file, so that the server's own account can open it after root
    /// has used it.
    private func takeLock(in folder: String) throws(ConfigurationError) -> Int32 {
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw failure("locked", errno) }
        if let owner = ownerToKeep(in: folder) {
            // The owner of the folder may have linked another user's file to this name. Such a file is not given away.
            if let status = FileStatus(descriptor: lock), status.isRegular, status.links == 1,
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
        guard geteuid() == 0,
            let status = FileStatus(path, followsLinks: false) ?? FileStatus(folder, followsLinks: true)
        else { return nil }
        return (status.owner, status.group)
    }

    private func failure(_ verb: String, _ code: Int32) -> ConfigurationError {
        ConfigurationError(
            "authority.token-file: \(path) cannot be \(verb): \(String(cString: strerror(code)))",
            mayPass: code.isAboutFullDisk)
    }
}

extension Int32 {
    /// Whether the error code says that the disk, or the user's part of it, is full.
    fileprivate var isAboutFullDisk: Bool { self == ENOSPC || self == EDQUOT }
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
        var code = ByteSink(descriptor: file).write(secret + "\n")
        if code == nil, fsync(file) != 0 { code = errno }
        close(file)
        if let code {
            unlink(path)
            throw ConfigurationError(
                "\(path) cannot be written: \(String(cString: strerror(code)))", mayPass: code.isAboutFullDisk)
        }
    }
}

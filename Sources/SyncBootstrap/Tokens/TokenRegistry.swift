import Foundation
import Glibc
import SyncServerHTTP

/// Adds and removes the tokens that a server accepts. The file holds their hashes alone; the server reads it again by
/// itself when it has changed.
public struct TokenRegistry: Sendable {
    private let path: String
    private let random: @Sendable () -> UInt64

    /// - Parameter random: a source that nobody can guess.
    init(path: String, random: @escaping @Sendable () -> UInt64) {
        self.path = path
        self.random = random
    }

    /// Makes a token for a principal, writes down its hash, and gives the token: nobody can tell it later.
    public func add(_ principal: String) throws(ConfigurationProblem) -> Token {
        guard !principal.isEmpty, principal.utf8.count <= 128, !principal.hasPrefix("#"),
            principal.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw ConfigurationProblem(
                "'\(principal.prefix(128))' is no name for a principal; expected up to 128 visible ASCII characters, not # first"
            )
        }
        // 256 bits.
        let secret = (0..<4).map { _ in
            let digits = String(random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        try change { lines in lines + [TokenFile.line(principal: principal, token: secret)] }
        return Token(secret)
    }

    /// Takes back all tokens of a principal: how many there were.
    public func remove(_ principal: String) throws(ConfigurationProblem) -> Int {
        var count = 0
        try change { lines in
            let kept = lines.filter { Self.principal(of: $0) != principal }
            count = lines.count - kept.count
            return kept
        }
        return count
    }

    /// Who has tokens, and how many each, in the order of the names.
    public func principals() throws(ConfigurationProblem) -> [(name: String, tokens: Int)] {
        var counts: [String: Int] = [:]
        for line in try read() { if let name = Self.principal(of: line) { counts[name, default: 0] += 1 } }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func principal(of line: String) -> String? {
        guard let word = line.split(whereSeparator: \.isWhitespace).first, !word.hasPrefix("#") else { return nil }
        return String(word)
    }

    // MARK: The file

    private func read() throws(ConfigurationProblem) -> [String] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationProblem("authority.token-file: \(path) cannot be read")
        }
        return text.split(separator: "\n" as Character, omittingEmptySubsequences: false).map(String.init).dropLastEmpty
    }

    /// Changes the file as a whole, one process at a time: a reader sees the old lines or the new ones, and others see
    /// neither, under any umask.
    private func change(_ body: ([String]) -> [String]) throws(ConfigurationProblem) {
        let folder = (path as NSString).deletingLastPathComponent
        try PrivateFolder.make(folder.isEmpty ? "." : folder)
        let lock = open(path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw failure("locked") }
        defer { close(lock) }
        let text = body(try read()).map { $0 + "\n" }.joined()
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("written") }
        let bytes = Array(text.utf8)
        let isWritten = write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0
        close(file)
        guard isWritten, rename(temporary, path) == 0 else { throw failure("written") }
    }

    private func failure(_ verb: String) -> ConfigurationProblem {
        ConfigurationProblem("authority.token-file: \(path) cannot be \(verb): \(String(cString: strerror(errno)))")
    }
}

extension [String] {
    /// Without the empty piece behind the last line break.
    fileprivate var dropLastEmpty: [String] {
        last?.isEmpty == true ? Array(dropLast()) : self
    }
}

extension Token {
    /// Writes the token into a new file that only its owner can read; refuses to replace one.
    public func write(to path: String) throws(ConfigurationProblem) {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw ConfigurationProblem("\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        let bytes = Array((secret + "\n").utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count else {
            throw ConfigurationProblem("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}

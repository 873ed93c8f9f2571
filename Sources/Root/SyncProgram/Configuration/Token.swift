package import Foundation

/// A bearer token. Its descriptions never contain the secret.
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The token itself, for the code that sends it.
    public let secret: String

    /// Wraps a secret without checking it.
    public init(_ secret: String) {
        self.secret = secret
    }

    /// Reads the token in the first line of a file.
    ///
    /// - Throws: if the file is accessible to other users, is a symbolic link, or contains no valid token.
    public init(file path: String) throws(ConfigurationError) {
        // O_NONBLOCK is needed because opening a named pipe waits for its writer.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.problem(opening: path, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.problem(opening: path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let kind = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "not a regular file"
            throw ConfigurationError("server.token-file: \(path) is \(kind); expected a file with a token")
        }
        let permissions = status.st_mode & 0o7777
        guard permissions & 0o077 == 0 else {
            throw ConfigurationError(
                "server.token-file: others may read \(path) (permissions \(String(permissions, radix: 8))); expected 600",
                advice: "chmod 600 \(path)")
        }
        var bytes = [UInt8](repeating: 0, count: Self.largestSize + 1)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else {
            throw ConfigurationError("server.token-file: \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        try self.init(contents: Data(bytes.prefix(count)), of: path)
    }

    /// Reads the token in the first line of a file's contents.
    package init(contents: Data, of path: String) throws(ConfigurationError) {
        guard contents.count <= Self.largestSize else {
            throw ConfigurationError(
                "server.token-file: \(path) is larger than \(Self.largestSize) bytes; expected a file with a token")
        }
        let line = String(decoding: contents, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
        guard let line, line.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw ConfigurationError(
                "server.token-file: the first line of \(path) is not a valid token; expected printable ASCII without spaces"
            )
        }
        self.init(line)
    }

    private static func problem(opening path: String, _ code: Int32) -> ConfigurationError {
        switch code {
        case ENOENT, ENOTDIR:
            ConfigurationError(
                "server.token-file: \(path) does not exist",
                advice: "on the server, its command token add NAME makes a token")
        case ELOOP:
            ConfigurationError(
                "server.token-file: \(path) is a symbolic link; expected the file itself",
                advice: "name the file that it points at")
        default:
            ConfigurationError("server.token-file: \(path) cannot be opened: \(String(cString: strerror(code)))")
        }
    }

    /// Maximum size of a token file, in bytes. Tokens of a server have a few dozen bytes, web tokens a few thousand.
    private static let largestSize = 8_192

    public var description: String { "********" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

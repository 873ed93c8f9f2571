import Foundation

/// A secret that a client shows its server. It never prints itself (RELIABILITY S31).
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The characters themselves, for the one place that sends them.
    public let secret: String

    public init(_ secret: String) {
        self.secret = secret
    }

    /// Reads the first line of a file that only its owner can read.
    public init(file path: String) throws(ConfigurationProblem) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let permissions = (attributes?[.posixPermissions] as? NSNumber)?.intValue,
            attributes?[.type] as? FileAttributeType == .typeRegular
        else {
            throw ConfigurationProblem(
                "server.token-file: there is no file \(path)",
                advice: "syncd token add NAME on the server makes a token")
        }
        guard permissions & 0o077 == 0 else {
            throw ConfigurationProblem(
                "server.token-file: others may read \(path) (permissions \(String(permissions, radix: 8))); expected 600",
                advice: "chmod 600 \(path)")
        }
        guard let handle = FileHandle(forReadingAtPath: path),
            let data = try? handle.read(upToCount: Self.largestSize + 1)
        else {
            throw ConfigurationProblem("server.token-file: \(path) cannot be read, or is empty")
        }
        let line = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
        guard let line, data.count <= Self.largestSize, line.utf8.allSatisfy({ $0 > 32 && $0 < 127 }) else {
            throw ConfigurationProblem(
                "server.token-file: the first line of \(path) is no token; expected printable ASCII without spaces")
        }
        self.init(line)
    }

    /// Tokens are some dozens of bytes.
    private static let largestSize = 4_096

    public var description: String { "********" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

public import Foundation

/// The validated URL of a server.
public struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The URL as it was given.
    public let url: URL
    /// The host name or IP address in lower case, without the brackets of an IPv6 address.
    public let host: String
    /// Whether the scheme is `https`.
    public let isEncrypted: Bool

    /// Parses a text; nil when it is not an absolute `http` or `https` URL, or has a user name, a password, a query, a
    /// fragment, or an invalid port. Secrets do not belong in URLs.
    public init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.query == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true, let url = parts.url
        else { return nil }
        self.url = url
        self.host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]")).lowercased()
        isEncrypted = scheme == "https"
    }

    /// Whether the host is this machine, so that the connection needs neither a network link nor encryption.
    public var isLoopback: Bool { Self.isLoopback(host) }

    package static func isLoopback(_ host: String) -> Bool {
        // A resolver may ask the network for names below localhost (RFC 6761 §6.3 only advises against it).
        host == "localhost" || host == "::1" || isLoopbackIPv4(host)
    }

    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let words = host.split(separator: ".", omittingEmptySubsequences: false)
        let parts = words.compactMap { UInt8($0) }
        // Other parsers read 0127 as octal 87, which is not a loopback address.
        return parts.map(String.init) == words.map(String.init) && parts.count == 4 && parts[0] == 127
    }

    public var description: String { url.absoluteString }
}

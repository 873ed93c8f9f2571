public import SyncCore

/// Where a server is, and how long to wait for it.
public struct HTTPTransportConfiguration: Sendable {
    /// `http://host:port` or `https://host:port`, with a path in front of `/v1` if the server has one.
    public var baseURL: String
    /// How long a connection may take to come about, TLS included.
    public var connectTimeout: Duration
    /// How long the server may be silent while it answers.
    public var readTimeout: Duration
    /// How long a call may take as a whole, to the last byte of the reply; longer by what a slow link needs for the
    /// body of the request (`SyncPolicy.uploadTime(ofBytes:)`).
    public var callTimeout: Duration
    /// How long an event stream may be silent: longer than the server's heartbeats are apart.
    public var hintsTimeout: Duration
    /// The longest reply, in bytes.
    public var maximumReplyBytes: Int
    /// The path of a PEM file with the certificates to trust instead of the system's.
    public var trustedCertificates: String?
    /// Whether HTTP/2 is spoken where TLS agrees on it.
    public var allowsHTTP2: Bool
    /// Whether the token may go over plain HTTP to another machine, where everybody on the way can read it. To this machine
    /// itself it always may.
    public var sendsTokenInPlainText: Bool

    /// The default of `connectTimeout`: several round trips of a slow mobile link.
    public static let connectTimeout = Duration.seconds(10)

    public init(
        baseURL: String, connectTimeout: Duration = Self.connectTimeout,
        readTimeout: Duration = SyncPolicy().requestDeadline, callTimeout: Duration = SyncPolicy().requestDeadline,
        hintsTimeout: Duration = .seconds(60),
        maximumReplyBytes: Int = 64 * 1_024 * 1_024, trustedCertificates: String? = nil, allowsHTTP2: Bool = true,
        sendsTokenInPlainText: Bool = false
    ) {
        self.sendsTokenInPlainText = sendsTokenInPlainText
        self.baseURL = baseURL
        self.connectTimeout = connectTimeout
        self.readTimeout = readTimeout
        self.callTimeout = callTimeout
        self.hintsTimeout = hintsTimeout
        self.maximumReplyBytes = maximumReplyBytes
        self.trustedCertificates = trustedCertificates
        self.allowsHTTP2 = allowsHTTP2
    }
}

/// An error in the configuration of a transport.
public struct HTTPTransportConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

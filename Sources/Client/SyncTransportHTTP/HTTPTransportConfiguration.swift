public import SyncCore

/// The address of a server and the time limits of calls to it.
public struct HTTPTransportConfiguration: Sendable {
    /// `http://host:port` or `https://host:port`, followed by the path in front of `/v1` if the server has one.
    public var baseURL: String
    /// How long it may take to open a connection, including TLS.
    public var connectTimeout: Duration
    /// How long the server may be silent while it responds.
    public var readTimeout: Duration
    /// How long a whole call may take, up to the last byte of the response. The time that a slow link needs for the
    /// body of the request (`SyncPolicy.uploadTime(ofBytes:)`) is added.
    public var callTimeout: Duration
    /// How long an event stream may be silent. Must exceed the interval of the server's heartbeats.
    public var hintsTimeout: Duration
    /// Largest response in bytes.
    public var maximumResponseBytes: Int
    /// Path of a PEM file with the certificates to trust instead of the system's; nil trusts the system's.
    public var trustedCertificates: String?
    /// Whether the token may be sent over plain HTTP to another machine, where anyone on the path can read it. It may
    /// always be sent to this machine itself.
    public var sendsTokenInPlainText: Bool

    /// The default of `connectTimeout`: several round trips of a slow mobile link.
    public static let connectTimeout = Duration.seconds(10)

    /// Creates a configuration without checking it. `HTTPTransport` throws if it cannot be used.
    public init(
        baseURL: String, connectTimeout: Duration = Self.connectTimeout,
        readTimeout: Duration = SyncPolicy().requestDeadline, callTimeout: Duration = SyncPolicy().requestDeadline,
        hintsTimeout: Duration = .seconds(60),
        maximumResponseBytes: Int = 64 * 1_024 * 1_024, trustedCertificates: String? = nil,
        sendsTokenInPlainText: Bool = false
    ) {
        self.sendsTokenInPlainText = sendsTokenInPlainText
        self.baseURL = baseURL
        self.connectTimeout = connectTimeout
        self.readTimeout = readTimeout
        self.callTimeout = callTimeout
        self.hintsTimeout = hintsTimeout
        self.maximumResponseBytes = maximumResponseBytes
        self.trustedCertificates = trustedCertificates
    }
}

/// An error in the configuration of a transport.
public struct HTTPTransportConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

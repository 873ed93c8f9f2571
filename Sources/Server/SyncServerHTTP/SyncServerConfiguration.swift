import Glibc
import NIOCore

/// The configuration of the HTTP server: its address, its certificates, and its limits.
public struct SyncServerConfiguration: Sendable {
    /// The address or the host name to listen on. `127.0.0.1` accepts only clients of this machine.
    public var host: String
    /// The port; 0 lets the system choose one. `SyncServer` reports the actual port.
    public var port: Int
    /// The certificate files. Without them, the server speaks plain HTTP/1.1, which is only for loopback or behind a
    /// proxy.
    public var tls: TLS?
    /// Maximum length of a request body, in bytes. It must not be less than the authority's limit of a push.
    public var maximumBodyBytes: Int
    /// The time in which a request body must arrive. A body gets another second for each 4 KiB that have arrived.
    public var bodyTimeout: Duration
    /// The time that a connection may be silent.
    public var idleTimeout: Duration
    /// The time in which a TLS handshake must finish.
    public var handshakeTimeout: Duration
    /// The time that connections may stay open after a graceful shutdown has begun. The remaining ones are then closed.
    public var drain: Duration
    /// The interval of heartbeats on an idle event stream. It must be shorter than the time that clients wait.
    public var heartbeat: Duration
    /// Maximum number of open connections. Beyond it, a new connection replaces one that has presented no valid token,
    /// that is idle, or that only has an event stream.
    public var maximumConnections: Int
    /// Maximum number of open connections from one address: an IPv4 address, or the first 64 bits of an IPv6 address.
    /// Behind a proxy, all clients share one address, so use the value of `maximumConnections`.
    public var maximumConnectionsPerAddress: Int
    /// Number of requests per second that one principal may send. A principal that was idle may send those of ten
    /// seconds at once.
    public var requestsPerSecond: Int
    /// Number of bytes of request and response bodies per second that one principal may transfer, with the same
    /// allowance after idle time.
    public var bytesPerSecond: Int
    /// The folder whose disk must have room for the server to be ready; nil when the store is on another machine.
    public var folder: String?
    /// Number of threads on which the authority may wait for its store.
    public var threads: Int
    /// The time for which a token stays accepted while the body of a request arrives. Only tests change it.
    var tokenAge = SyncServerLimits.tokenAge

    /// The PEM files of the server's certificate chain, without the root, and of its private key.
    public struct TLS: Hashable, Sendable {
        /// The path of the file with the server's certificate, followed by the intermediate ones.
        public var certificateChain: String
        /// The path of the file with the private key of the server's certificate.
        public var privateKey: String

        /// Creates the pair without reading the files. The server reads them when it starts.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// Creates a configuration. By default, the server listens on loopback without TLS.
    public init(
        host: String = "127.0.0.1", port: Int = 8080, tls: TLS? = nil, maximumBodyBytes: Int = 8 * 1_024 * 1_024,
        bodyTimeout: Duration = .seconds(30), idleTimeout: Duration = .seconds(75),
        handshakeTimeout: Duration = .seconds(10), drain: Duration = .seconds(10), heartbeat: Duration = .seconds(15),
        maximumConnections: Int = 10_000, maximumConnectionsPerAddress: Int = 256, requestsPerSecond: Int = 300,
        bytesPerSecond: Int = 16 * 1_024 * 1_024, folder: String? = nil, threads: Int = 4
    ) {
        self.host = host
        self.port = port
        self.tls = tls
        self.maximumBodyBytes = maximumBodyBytes
        self.bodyTimeout = bodyTimeout
        self.idleTimeout = idleTimeout
        self.handshakeTimeout = handshakeTimeout
        self.drain = drain
        self.heartbeat = heartbeat
        self.maximumConnections = maximumConnections
        self.maximumConnectionsPerAddress = maximumConnectionsPerAddress
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
        self.folder = folder
        self.threads = threads
    }
}

/// An error in the configuration of a server, described in one sentence for the operator.
public struct SyncServerConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// Whether the cause may end without a change of the configuration, such as a port that another process uses.
    public let mayPass: Bool

    init(description: String, mayPass: Bool = false) {
        self.description = description
        self.mayPass = mayPass
    }
}

extension SyncServerConfigurationError {
    /// Converts the error of a server that cannot listen on its address.
    ///
    /// - Throws: `error`, if it is about something else.
    init(listening error: any Error, on host: String, port: Int) throws {
        let reason: String
        // At the start of a machine, its addresses and its name server may come later than this server.
        var mayPass = true
        switch error {
        case let error as IOError:
            reason = String(cString: strerror(error.errnoCode))
            mayPass = error.errnoCode != EACCES
        case is SocketAddressError, is SocketAddressError.UnknownHost: reason = "the host does not exist"
        default: throw error
        }
        self.init(description: "cannot listen on \(host), port \(port): \(reason)", mayPass: mayPass)
    }
}

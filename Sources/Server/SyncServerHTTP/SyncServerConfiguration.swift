/// Where the server listens, and what it puts up with.
public struct SyncServerConfiguration: Sendable {
    public var host: String
    /// 0 lets the system choose; `SyncServer` tells which it became.
    public var port: Int
    /// Without it the server speaks plain HTTP/1.1, which is for loopback and for behind a proxy.
    public var tls: TLS?
    /// The longest body of a request, in bytes. Not less than the authority's limit of a push.
    public var maximumBodyBytes: Int
    /// How long a body may take to arrive; one that goes on coming, a second longer for each 4 KiB.
    public var bodyTimeout: Duration
    /// How long a connection may be silent.
    public var idleTimeout: Duration
    /// How long a TLS handshake may take.
    public var handshakeTimeout: Duration
    /// How long connections may go on once a graceful shutdown has begun; what is open then is closed.
    public var drain: Duration
    /// How often an event stream that has nothing to tell says so: less than clients wait.
    public var heartbeat: Duration
    /// Connections at one time. A newcomer beyond them takes the place of one that has shown no good token, or that is idle.
    public var maximumConnections: Int
    /// Connections of one address at one time: an IPv4 address, or the first 64 bits of an IPv6 address. Behind a proxy, whose
    /// clients share an address, as many as `maximumConnections`.
    public var maximumConnectionsPerAddress: Int
    /// Threads on which the authority may wait for its store.
    public var threads: Int

    /// The PEM files of the server's certificate, with those between it and the root, and of its private key.
    public struct TLS: Hashable, Sendable {
        public var certificateChain: String
        public var privateKey: String

        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    public init(
        host: String = "127.0.0.1", port: Int = 8080, tls: TLS? = nil, maximumBodyBytes: Int = 8 * 1_024 * 1_024,
        bodyTimeout: Duration = .seconds(30), idleTimeout: Duration = .seconds(75),
        handshakeTimeout: Duration = .seconds(10), drain: Duration = .seconds(10), heartbeat: Duration = .seconds(15),
        maximumConnections: Int = 10_000, maximumConnectionsPerAddress: Int = 256, threads: Int = 4
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
        self.threads = threads
    }
}

/// A fault in the configuration of a server: one sentence for the person who runs it.
public struct SyncServerConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

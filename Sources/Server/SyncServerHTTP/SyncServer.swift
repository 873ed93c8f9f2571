import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
public import SyncAuthority
public import SyncModel

/// The HTTP/1.1 server for an authority, with TLS if it is configured.
///
/// It runs until its task is cancelled or its service group shuts down. A graceful shutdown lets current requests
/// finish, ends event streams, and closes the remaining connections after `drain`.
public struct SyncServer: Service {
    private let configuration: SyncServerConfiguration
    private let authority: any AuthorityService
    private let catalog: SchemaCatalog
    private let authentication: Authentication
    private let review: (any TransactionReview)?
    private let now: @Sendable () -> WallTime
    private let logger: Logger
    private let onRunning: @Sendable (Int) async -> Void

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - authentication: determines the principal of each request from its token.
    ///   - review: the application's own rules for the writes of clients; nil for none.
    ///   - now: the server's wall clock.
    ///   - onRunning: called once with the port on which the server listens.
    public init(
        configuration: SyncServerConfiguration, authority: any AuthorityService, catalog: SchemaCatalog,
        authentication: Authentication, review: (any TransactionReview)? = nil,
        now: @escaping @Sendable () -> WallTime, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.authority = authority
        self.catalog = catalog
        self.authentication = authentication
        self.review = review
        self.now = now
        self.logger = logger
        self.onRunning = onRunning
    }

    /// Creates a server with an authenticator that may block its thread, and without a review.
    public init(
        configuration: SyncServerConfiguration, authority: any AuthorityService, catalog: SchemaCatalog,
        authenticator: any Authenticator, now: @escaping @Sendable () -> WallTime, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.init(
            configuration: configuration, authority: authority, catalog: catalog,
            authentication: .blocking(authenticator), now: now, logger: logger, onRunning: onRunning)
    }

    /// Runs the server.
    ///
    /// - Throws: `SyncServerConfigurationError` for unusable certificates, and for an address on which it cannot
    ///   listen.
    public func run() async throws {
        let threads = NIOThreadPool(numberOfThreads: configuration.threads)
        let endpoint = ServerEndpoint(
            authority: authority, catalog: catalog, threads: threads, now: now, review: review)
        let connections = OpenConnections(
            limits: .init(
                total: configuration.maximumConnections, perAddress: configuration.maximumConnectionsPerAddress),
            logger: logger)
        let routes = Routes(
            endpoint: endpoint, authentication: authentication, configuration: configuration, connections: connections,
            health: StoreHealth { endpoint.checkStore($0) },
            budget: RequestBudget(connectionsPerAddress: configuration.maximumConnectionsPerAddress), logger: logger)
        let application = Application(
            responder: routes, server: try server(connections),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: nil,
                backlog: SyncServerLimits.backlog),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        // Start the threads after everything that may throw, because an error would leave them running.
        threads.start()
        do {
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await application.run()
                } onGracefulShutdown: { [drain = TimeAmount(configuration.drain)] in
                    MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: drain) { connections.closeAll() }
                }
            } onCancel: {
                connections.closeAll()
            }
        } catch {
            try await threads.shutdownGracefully()
            throw listenError(error)
        }
        try await threads.shutdownGracefully()
    }

    /// Returns a readable error for an address on which the server cannot listen; any other error unchanged.
    private func listenError(_ error: any Error) -> any Error {
        let reason: String
        switch error {
        case let error as IOError: reason = String(cString: strerror(error.errnoCode))
        case is SocketAddressError: reason = "the host does not exist"
        default: return error
        }
        return SyncServerConfigurationError(
            description: "cannot listen on \(configuration.host), port \(configuration.port): \(reason)")
    }

    private func server(_ connections: OpenConnections) throws -> HTTPServerBuilder {
        let idle = TimeAmount(configuration.idleTimeout)
        let limits = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: SyncServerLimits.headerBytes, maxHeaderListSize: SyncServerLimits.headerBytes,
            maxHeaderFieldCount: SyncServerLimits.headerFields)
        let tls = try configuration.tls.map { try Self.tls($0) }
        return HTTPServerBuilder { [configuration] responder in
            ConnectionChannel(
                http1: HTTP1Channel(
                    responder: responder,
                    configuration: .init(idleTimeout: idle, httpDecoderConfiguration: limits)),
                tls: tls, handshakeTimeout: configuration.handshakeTimeout, connections: connections)
        }
    }

    private static func tls(_ files: SyncServerConfiguration.TLS) throws -> NIOSSLContext {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try certificates(files.certificateChain), privateKey: try key(files.privateKey))
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        do {
            return try NIOSSLContext(configuration: tls)
        } catch {
            // The messages of BoringSSL name its source files, so they are not shown.
            throw SyncServerConfigurationError(
                description:
                    "the key in \(files.privateKey) does not belong to the certificate in \(files.certificateChain)")
        }
    }

    private static func certificates(_ path: String) throws -> [NIOSSLCertificateSource] {
        try checkReadable(path, "certificate")
        guard let chain = try? NIOSSLCertificate.fromPEMFile(path), !chain.isEmpty else {
            throw SyncServerConfigurationError(
                description: "\(path) contains no certificate; expected PEM, with a BEGIN CERTIFICATE line")
        }
        return chain.map { .certificate($0) }
    }

    private static func key(_ path: String) throws -> NIOSSLPrivateKeySource {
        try checkReadable(path, "private key")
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else {
            throw SyncServerConfigurationError(
                description:
                    "\(path) contains no private key; expected PEM without a passphrase, with a BEGIN PRIVATE KEY line"
            )
        }
        return .privateKey(key)
    }

    /// Throws if a file cannot be opened. A named pipe is refused, because the server would wait for its writer, unless
    /// a shell has given the pipe to this process.
    private static func checkReadable(_ path: String, _ what: String) throws {
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else {
            throw SyncServerConfigurationError(
                description: "the \(what) cannot be read from \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(file) }
        var status = stat()
        let isInherited = path.hasPrefix("/dev/fd/") || path.hasPrefix("/proc/self/fd/")
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG || isInherited else {
            throw SyncServerConfigurationError(
                description: "the \(what) cannot be read from \(path): it is not a regular file")
        }
    }
}

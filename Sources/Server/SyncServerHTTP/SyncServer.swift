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
    private let metrics: PrometheusRegistry?
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
        self.init(
            configuration: configuration, authority: authority, catalog: catalog, authentication: authentication,
            review: review, metrics: nil, now: now, logger: logger, onRunning: onRunning)
    }

    /// Creates a server that counts what it does.
    ///
    /// - Parameter metrics: the registry of the counts; nil counts nothing.
    package init(
        configuration: SyncServerConfiguration, authority: any AuthorityService, catalog: SchemaCatalog,
        authentication: Authentication, review: (any TransactionReview)?, metrics: PrometheusRegistry?,
        now: @escaping @Sendable () -> WallTime, logger: Logger, onRunning: @escaping @Sendable (Int) async -> Void
    ) {
        self.metrics = metrics
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
            authority: authority, catalog: catalog, threads: threads, now: now, review: review,
            folder: configuration.folder)
        let connections = OpenConnections(
            limits: .init(
                total: configuration.maximumConnections, perAddress: configuration.maximumConnectionsPerAddress),
            logger: logger)
        let routes = Routes(
            endpoint: endpoint, authentication: authentication, configuration: configuration, connections: connections,
            health: StoreHealth { endpoint.checkStore($0) },
            budget: RequestBudget(connectionsPerAddress: configuration.maximumConnectionsPerAddress),
            rates: RequestRates(
                limits: .init(requests: configuration.requestsPerSecond, bytes: configuration.bytesPerSecond)),
            metrics: metrics.map { RequestMetrics($0) }, logger: logger)
        if let metrics { addReadings(of: routes, to: metrics) }
        let tls = try configuration.tls.map { try Self.tls($0) }
        let application = Application(
            responder: routes, server: ConnectionChannel.builder(configuration, tls: tls, connections: connections),
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
            throw try SyncServerConfigurationError(
                listening: error, on: configuration.host, port: configuration.port)
        }
        try await threads.shutdownGracefully()
    }

    private func addReadings(of routes: Routes, to metrics: PrometheusRegistry) {
        metrics.read("tombolo_connections", .gauge, "Open connections.") { Double(routes.connections.count) }
        metrics.read(
            "tombolo_connections_turned_away_total", .counter,
            "Connections that were closed or refused for lack of room."
        ) { Double(routes.connections.turnedAway) }
        metrics.read("tombolo_event_streams", .gauge, "Open event streams.") { Double(routes.budget.openStreams) }
        metrics.read("tombolo_store_up", .gauge, "1 if the store can be read and no damage is known, otherwise 0.") {
            do { try await routes.health.check() } catch { return 0 }
            return 1
        }
        if case .webTokens(let tokens, _) = authentication { addReadings(of: tokens, routes.endpoint.threads, metrics) }
    }

    private func addReadings(of tokens: WebTokens, _ threads: NIOThreadPool, _ metrics: PrometheusRegistry) {
        metrics.read("tombolo_jwt_keys", .gauge, "Keys for JSON Web Tokens.") {
            // Reads the files if they have changed.
            (try? await threads.runIfActive { tokens.keyCount }).map(Double.init)
        }
        metrics.read(
            "tombolo_jwt_keys_stale", .gauge,
            "1 if the files of the keys cannot be used, so that earlier keys are accepted, otherwise 0."
        ) { tokens.hasStaleKeys ? 1 : 0 }
        metrics.read("tombolo_jwt_refused_total", .counter, "JSON Web Tokens that were refused.") {
            Double(tokens.refused)
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
        try check(path, "certificate", isSecret: false)
        guard let chain = try? NIOSSLCertificate.fromPEMFile(path), !chain.isEmpty else {
            throw SyncServerConfigurationError(
                description: "\(path) contains no certificate; expected PEM, with a BEGIN CERTIFICATE line")
        }
        return chain.map { .certificate($0) }
    }

    private static func key(_ path: String) throws -> NIOSSLPrivateKeySource {
        try check(path, "private key", isSecret: true)
        guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else {
            throw SyncServerConfigurationError(
                description:
                    "\(path) contains no private key; expected PEM without a passphrase, with a BEGIN PRIVATE KEY line"
            )
        }
        return .privateKey(key)
    }

    /// Throws if a file cannot be opened, if another user could change it, or if everybody could read a secret one. A
    /// group may read a key, as Debian's group `ssl-cert` does. A named pipe is refused, because the server would wait
    /// for its writer, unless a shell has given the pipe to this process.
    private static func check(_ path: String, _ what: String, isSecret: Bool) throws {
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
        guard !isInherited else { return }
        do {
            try TrustedFile.requireOwner(status, path)
            try TrustedFile.requireUnwritable(status, path)
        } catch {
            throw SyncServerConfigurationError(description: "the \(what) is not safe: \(error)")
        }
        guard !isSecret || status.st_mode & 0o004 == 0 else {
            throw SyncServerConfigurationError(
                description: "the \(what) is not safe: everybody may read \(path), so run chmod o-r on it")
        }
    }
}

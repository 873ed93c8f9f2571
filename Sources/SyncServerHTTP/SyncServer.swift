import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
public import Logging
import NIOCore
import NIOPosix
import NIOSSL
public import ServiceLifecycle
public import SyncAuthority
public import SyncModel

/// The protocol's routes over an authority: HTTP/1.1, and HTTP/2 where there is TLS.
///
/// Runs until its task is cancelled or its service group shuts down; a graceful shutdown lets requests that are
/// being answered end, ends event streams, and closes what is still open after `drain`.
public struct SyncServer: Service {
    private let configuration: SyncServerConfiguration
    private let authority: any AuthorityService
    private let catalog: SchemaCatalog
    private let authenticator: any Authenticator
    private let now: @Sendable () -> WallTime
    private let logger: Logger
    private let onRunning: @Sendable (Int) async -> Void

    /// - Parameters:
    ///   - authenticator: finds out who asks.
    ///   - now: the server's wall clock.
    ///   - onRunning: called once with the port on which the server listens.
    public init(
        configuration: SyncServerConfiguration, authority: any AuthorityService, catalog: SchemaCatalog,
        authenticator: any Authenticator, now: @escaping @Sendable () -> WallTime, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.authority = authority
        self.catalog = catalog
        self.authenticator = authenticator
        self.now = now
        self.logger = logger
        self.onRunning = onRunning
    }

    /// - Throws: `SyncServerConfigurationError` for certificates that are of no use; what the system says when the
    ///   address cannot be listened on.
    public func run() async throws {
        let threads = NIOThreadPool(numberOfThreads: configuration.threads)
        let endpoint = ServerEndpoint(authority: authority, catalog: catalog, threads: threads, now: now)
        let connections = OpenConnections(
            limits: .init(
                total: configuration.maximumConnections, perAddress: configuration.maximumConnectionsPerAddress),
            logger: logger)
        let routes = Routes(
            endpoint: endpoint, authenticator: authenticator, configuration: configuration, connections: connections,
            health: StoreHealth { endpoint.lookAtStore() }, logger: logger)
        let application = Application(
            responder: routes, server: try server(connections),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: nil,
                backlog: SyncServerLimits.backlog),
            onServerRunning: { [onRunning] channel in await onRunning(channel.localAddress?.port ?? 0) },
            logger: logger)
        // Behind everything that may throw: nobody else would end them.
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
            throw error
        }
        try await threads.shutdownGracefully()
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
                http2: HTTP2Channel(
                    responder: responder,
                    configuration: .init(
                        idleTimeout: configuration.idleTimeout,
                        streamConfiguration: .init(
                            additionalChannelHandlers: [StreamGuard()], idleTimeout: idle))),
                tls: tls, handshakeTimeout: configuration.handshakeTimeout, idleTimeout: configuration.idleTimeout,
                connections: connections)
        }
    }

    private static func tls(_ files: SyncServerConfiguration.TLS) throws -> NIOSSLContext {
        do {
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificateChain).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.privateKey, format: .pem)))
            tls.minimumTLSVersion = .tlsv12
            tls.applicationProtocols = ["h2", "http/1.1"]
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw SyncServerConfigurationError(
                description:
                    "\(files.certificateChain) and \(files.privateKey) are to be PEM files of a certificate and its key: \(error)"
            )
        }
    }
}

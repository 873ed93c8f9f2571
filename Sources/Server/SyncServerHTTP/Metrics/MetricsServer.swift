import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import SyncWire

/// Serves metrics as `GET /metrics` on a separate address, without a token and without TLS.
///
/// Everyone who can connect to the address can read the metrics: the numbers of requests, transactions, and
/// connections. They contain no data of records and no names of accounts.
package struct MetricsServer: Service {
    private let host: String
    private let port: Int
    private let registry: PrometheusRegistry
    private let logger: Logger
    private let onRunning: @Sendable (Int) async -> Void

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - port: the port; 0 lets the system choose one.
    ///   - onRunning: called once with the port on which the server listens.
    package init(
        host: String, port: Int, registry: PrometheusRegistry, logger: Logger,
        onRunning: @escaping @Sendable (Int) async -> Void
    ) {
        self.host = host
        self.port = port
        self.registry = registry
        self.logger = logger
        self.onRunning = onRunning
    }

    /// Runs until the task is cancelled or the service group shuts down.
    ///
    /// - Throws: `SyncServerConfigurationError` for an address on which it cannot listen.
    package func run() async throws {
        let connections = OpenConnections(
            limits: .init(
                total: SyncServerLimits.metricsConnections, perAddress: SyncServerLimits.metricsConnections),
            logger: logger)
        let configuration = SyncServerConfiguration(host: host, port: port)
        let application = Application(
            responder: MetricsRoutes(registry: registry),
            server: ConnectionChannel.builder(configuration, tls: nil, connections: connections),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: nil),
            // A channel that another failure has closed already has no port.
            onServerRunning: { [onRunning] channel in
                if let port = channel.localAddress?.port { await onRunning(port) }
            },
            logger: logger)
        do {
            try await withTaskCancellationHandler {
                try await withGracefulShutdownHandler {
                    try await application.run()
                } onGracefulShutdown: {
                    connections.closeAll()
                }
            } onCancel: {
                connections.closeAll()
            }
        } catch {
            throw try SyncServerConfigurationError(listening: error, on: host, port: port)
        }
    }
}

/// The only route of the metrics server.
private struct MetricsRoutes: HTTPResponder {
    typealias Context = RouteContext

    let registry: PrometheusRegistry

    func respond(to request: Request, context: RouteContext) async throws -> Response {
        var response: Response
        if request.head.path == "/metrics", request.method == .get {
            response = Response(
                status: .ok, headers: .plain(type: "text/plain; version=0.0.4; charset=utf-8"),
                body: ResponseBody(pieces: ByteBuffer(string: await registry.text()), holding: nil))
        } else {
            response = Refusal(.notFound, .malformed, "the only route is GET /metrics").response(to: nil)
        }
        // A body that may follow is not read.
        if request.mayHaveBody { context.close(after: &response) }
        return response
    }
}

import Logging
import ServiceLifecycle
public import SyncCore
import UnixSignals

/// The services of a client: the engine, and the watches over links and routes, and over the token file.
public struct ClientServices: Sendable {
    public let engine: SyncEngine
    private let watch: @Sendable () throws(StoreFailure) -> @Sendable () -> Void
    private let group: ServiceGroup

    init(
        engine: SyncEngine, watch: @escaping @Sendable () throws(StoreFailure) -> @Sendable () -> Void,
        reachability: any Reachability, token: TokenSource?, clock: any Clock<Duration>, deadline: Duration,
        handlesSignals: Bool, logger: Logger
    ) {
        self.engine = engine
        self.watch = watch
        var services = [
            ServiceGroupConfiguration.ServiceConfiguration(
                service: ReachabilityService(reachability: reachability, logger: logger),
                successTerminationBehavior: .ignore, failureTerminationBehavior: .ignore)
        ]
        if let token, token.canChange {
            services.append(
                .init(
                    service: TokenWatch(token: token, engine: engine, clock: clock),
                    successTerminationBehavior: .ignore, failureTerminationBehavior: .ignore))
        }
        services.append(
            .init(
                service: EngineService(engine: engine), successTerminationBehavior: .gracefullyShutdownGroup,
                failureTerminationBehavior: .cancelGroup))
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: handlesSignals ? [.sigterm, .sigint] : [],
            // The lifecycle's own messages are about services, not about anything a user knows.
            logger: logger)
        // The engine gives up by itself at the deadline; this is for the case that it cannot.
        configuration.maximumGracefulShutdownDuration = deadline + .seconds(2)
        // There is no bound on the cancellation that follows: the group would end the application's process with a trap, on a
        // busy machine perhaps for nothing.
        group = ServiceGroup(configuration: configuration)
    }

    /// Runs until `stop` is called or a signal comes, and the stop is complete.
    public func run() async throws {
        // Before the engine starts: what another process writes from now on is told.
        let endWatch = try watch()
        defer { endWatch() }
        try await group.run()
    }

    /// Asks all services to end gracefully.
    public func stop() async {
        await group.triggerGracefulShutdown()
    }
}

/// The engine as a service: a graceful shutdown is a requested stop, not a cancellation.
struct EngineService: Service {
    let engine: SyncEngine

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await engine.run()
        } onGracefulShutdown: {
            engine.requestStop()
        }
    }
}

/// The watch over links and routes as a service. It is a help, not a need: where it fails, the engine goes on by asking
/// the server.
struct ReachabilityService: Service {
    let reachability: any Reachability
    let logger: Logger

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await reachability.run() }
        } catch is CancellationError {
            return
        } catch {
            logger.warning("Links and routes are not watched.", metadata: ["reason": "\(error)"])
            // A service that ends by itself while the engine is stopping would have the engine cancelled.
            try? await gracefulShutdown()
        }
    }
}

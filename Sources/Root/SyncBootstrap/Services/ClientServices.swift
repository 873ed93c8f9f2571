import Logging
import ServiceLifecycle
public import SyncCore
import UnixSignals

/// The services of a client: the engine, and the watches over the network, the token file, and the writes of other
/// processes.
public struct ClientServices: Sendable {
    /// The engine that the services run, for its status and its requests.
    public let engine: SyncEngine
    private let watch: @Sendable () throws(StoreError) -> @Sendable () -> Void
    private let group: ServiceGroup

    init(
        engine: SyncEngine, watch: @escaping @Sendable () throws(StoreError) -> @Sendable () -> Void,
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
            // ServiceLifecycle logs its own messages about services here, too.
            logger: logger)
        // The engine stops at the deadline by itself. This limit applies if the engine fails to stop.
        configuration.maximumGracefulShutdownDuration = deadline + .seconds(2)
        // The cancellation that follows has no limit. ServiceGroup would otherwise trap and end the application's
        // process, which on a busy machine may be unnecessary.
        group = ServiceGroup(configuration: configuration)
    }

    /// Runs the services until they have stopped, after a call of `stop` or a signal.
    ///
    /// - Throws: the failure of the engine, or of the watch over other processes.
    public func run() async throws {
        // The watch starts before the engine, so that no later write of another process is missed.
        let endWatch = try watch()
        defer { endWatch() }
        try await group.run()
    }

    /// Asks all services to stop gracefully, without waiting for their end.
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

/// The reachability watch as a service.
///
/// The engine works without the watch: it then finds out by its requests whether the server can be reached.
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
            // If a service ended by itself while the engine is stopping, ServiceGroup would cancel the engine.
            try? await gracefulShutdown()
        }
    }
}

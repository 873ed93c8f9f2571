import Logging
import ServiceLifecycle
public import SyncCore
import UnixSignals

/// The services of a client: the engine, and the watches over the network and the token file.
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
            // This logger receives ServiceLifecycle's messages, which are about services and mean nothing to a user.
            logger: logger)
        // The engine stops at the deadline by itself. This limit applies if it fails to.
        configuration.maximumGracefulShutdownDuration = deadline + .seconds(2)
        // The cancellation that follows has no limit. ServiceGroup would otherwise trap and end the application's
        // process, which on a busy machine may be unnecessary.
        group = ServiceGroup(configuration: configuration)
    }

    /// Runs until `stop` is called or a signal arrives, and the stop is complete.
    public func run() async throws {
        // The watch starts before the engine, so that no later write of another process is missed.
        let endWatch = try watch()
        defer { endWatch() }
        try await group.run()
    }

    /// Asks all services to stop gracefully.
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
/// The engine works without it: if it fails, the engine finds out by sending requests.
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

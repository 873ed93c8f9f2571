import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A device's transport behind hooks in which a bug can be planted.
struct PlantedTransport: RemoteTransport {
    typealias Base = any RemoteTransport

    let base: Base
    let runtime: EngineRuntime
    var onHello: @Sendable (Base) async throws(TransportError) -> ServerHello = {
        (base) async throws(TransportError) in try await base.hello()
    }
    var onPush: @Sendable (Base, PushRequest, EngineRuntime) async throws(TransportError) -> PushResponse = {
        (base, request, _) async throws(TransportError) in try await base.push(request)
    }
    var onPull: @Sendable (Base, PullRequest, EngineRuntime) async throws(TransportError) -> PullResponse = {
        (base, request, _) async throws(TransportError) in try await base.pull(request)
    }

    init(_ base: Base, _ runtime: EngineRuntime) {
        self.base = base
        self.runtime = runtime
    }

    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        switch request {
        case .hello: .hello(try await onHello(base))
        case .push(let request): .push(try await onPush(base, request, runtime))
        case .pull(let request): .pull(try await onPull(base, request, runtime))
        case .fetch: try await base.send(request)
        }
    }

    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> { base.hints(for: spaces) }
}

extension WorldParts {
    static func wrappingTransports(_ plant: @escaping @Sendable (inout PlantedTransport) -> Void) -> WorldParts {
        var parts = WorldParts.onSQLite()
        parts.wrapTransport = { base, runtime in
            var transport = PlantedTransport(base, runtime)
            plant(&transport)
            return transport
        }
        return parts
    }
}

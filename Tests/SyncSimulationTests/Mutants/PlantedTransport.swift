import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A device's transport behind hooks in which a bug can be planted.
struct PlantedTransport: RemoteTransport {
    typealias Way = any RemoteTransport

    let base: Way
    let runtime: EngineRuntime
    var onHello: @Sendable (Way) async throws(TransportFailure) -> ServerHello = {
        (base) async throws(TransportFailure) in try await base.hello()
    }
    var onPush: @Sendable (Way, PushRequest, EngineRuntime) async throws(TransportFailure) -> PushReply = {
        (base, request, _) async throws(TransportFailure) in try await base.push(request)
    }
    var onPull: @Sendable (Way, PullRequest, EngineRuntime) async throws(TransportFailure) -> PullReply = {
        (base, request, _) async throws(TransportFailure) in try await base.pull(request)
    }

    init(_ base: Way, _ runtime: EngineRuntime) {
        self.base = base
        self.runtime = runtime
    }

    func hello() async throws(TransportFailure) -> ServerHello { try await onHello(base) }
    func push(_ request: PushRequest) async throws(TransportFailure) -> PushReply {
        try await onPush(base, request, runtime)
    }
    func pull(_ request: PullRequest) async throws(TransportFailure) -> PullReply {
        try await onPull(base, request, runtime)
    }
    func fetch(_ request: FetchRequest) async throws(TransportFailure) -> Record? { try await base.fetch(request) }
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> { base.hints(for: spaces) }
}

extension WorldParts {
    static func wrappingTransports(_ plant: @escaping @Sendable (inout PlantedTransport) -> Void) -> WorldParts {
        var parts = WorldParts.onSQLite()
        parts.wrapTransport = { way, runtime in
            var transport = PlantedTransport(way, runtime)
            plant(&transport)
            return transport
        }
        return parts
    }
}

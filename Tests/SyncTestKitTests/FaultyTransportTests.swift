import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncTestKit
import TestRings
import Testing
import TomboloCommunity

/// Tests the faults that a `FaultyTransport` injects.
@Suite(.ring(.unit)) struct FaultyTransportTests {
    /// A transport that calls a closure for each response of another transport before it returns the response.
    private struct Observed: RemoteTransport {
        let base: any RemoteTransport
        let onResponse: @Sendable () -> Void

        func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
            let response = try await base.send(request)
            onResponse()
            return response
        }
        func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> { base.hints(for: spaces) }
    }

    @Test(arguments: [1, 2])
    func `a repeated request fails if the network goes down before either response`(last: Int) async throws {
        let server = try TestServer(models: CommunityCatalog.models).transport(for: "ned")
        let responses = Guarded(0)
        let network = Guarded<FaultyTransport?>(nil)
        let transport = FaultyTransport(
            Observed(base: server) {
                let count = responses.withLock { count in
                    count += 1
                    return count
                }
                if count == last { network.withLock { $0 }?.isDown = true }
            }, random: SeededRandom(seed: 1), wait: { _ in })
        network.withLock { $0 = transport }
        var faults = TransportFaults()
        faults.repeatRequests = 1
        transport.faults = faults
        let failure = await #expect(throws: TransportError.self) { try await transport.send(.hello) }
        #expect(failure?.code == .unreachable)
        #expect(responses.withLock { $0 } == last)
    }
}

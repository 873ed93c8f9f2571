import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncWire
import TestRings
import Testing

/// Tests the bounds on the sizes of messages that worlds check (I19).
@Suite(.ring(.test), .onWorldThreads) struct MessageBoundTests {
    /// The real codec, which also measures the longest push of several transactions.
    private struct MeasuringWire: SimulatedWire {
        let base: WireForm
        let longest: Guarded<Int>

        var requestHeaderBytes: Int { base.requestHeaderBytes }

        func encode(_ request: ServerRequest) throws -> [UInt8] {
            if case .push(let push) = request, push.transactions.count > 1 {
                let length = try request.encode().count
                longest.withLock { $0 = max($0, length) }
            }
            return try base.encode(request)
        }
        func decodeRequest(_ bytes: [UInt8]) throws -> ServerRequest { try base.decodeRequest(bytes) }
        func encode(_ response: ServerResponse, to request: ServerRequest) throws -> [UInt8] {
            try base.encode(response, to: request)
        }
        func encode(_ failure: TransportError) -> [UInt8] { base.encode(failure) }
        func decodeResponse(
            _ bytes: [UInt8], to request: ServerRequest
        ) throws(TransportError) -> ServerResponse {
            try base.decodeResponse(bytes, to: request)
        }
    }

    /// Runs a world whose devices are often offline, so that they push several transactions at once.
    private static func run(_ parts: WorldParts) throws(WorldError) {
        var plan = WorldPlan.calm(seed: 1, steps: 60)
        plan.rates.dropLink = 0.2
        plan.rates.recover = 0.1
        _ = try World(plan, parts: parts).run()
    }

    @Test func `a push at the length limit passes, and one byte more is a violation`() throws {
        let longest = Guarded(0)
        var parts = WorldParts.onSQLite()
        parts.wire = { MeasuringWire(base: WireForm(catalog: $0.catalog), longest: longest) }
        try Self.run(parts)
        let length = longest.withLock { $0 }
        #expect(length > 0)
        parts.messageBounds?.pushBytes = length
        try Self.run(parts)
        parts.messageBounds?.pushBytes = length - 1
        let failure = #expect(throws: WorldError.self) { try Self.run(parts) }
        #expect((failure?.cause as? Violation)?.invariant == .I19)
    }
}

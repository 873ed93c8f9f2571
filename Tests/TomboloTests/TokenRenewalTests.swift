import SyncConcurrency
import SyncSimulation
import TestRings
import Testing

@testable import SyncCore
@testable import Tombolo

/// Tests at which times the token closure is called while the server refuses the token.
@Suite(.ring(.unit)) struct TokenRenewalTests {
    private let simulation = Simulation(seed: 1)
    private let statuses = Broadcast<SyncStatus>()
    private let connection = Guarded(SyncStatus.Connection.connecting)
    private let calls = Guarded<[Duration]>([])

    private static let refused = SyncStatus.Connection.refused(
        TransportError(.unauthorized, "expected a bearer token"))

    /// Starts a renewal whose closure has no token.
    private func start() throws {
        let runtime = simulation.makeRuntime(device: "phone")
        let keeper = TokenKeeper(
            provider: { [simulation, calls] in
                calls.withLock { $0.append(simulation.now) }
                return nil
            }, timeout: .seconds(30), expiry: nil, runtime: runtime)
        let renewal = TokenRenewal(of: keeper, runtime: runtime) { [connection] in
            connection.withLock { $0 }
        } hasCalled: { isNew in
            #expect(!isNew)
        }
        let subscription = statuses.subscribe()
        _ = simulation.start("renewal") { await renewal.run(subscription) }
        try simulation.settle()
    }

    private func enter(_ next: SyncStatus.Connection) throws {
        connection.withLock { $0 = next }
        statuses.publish(SyncStatus(connection: next, push: .idle, spaces: [], outbox: OutboxSummary()))
        try simulation.settle()
    }

    private func seconds() -> [Int64] {
        calls.withLock { calls in calls.map { $0.components.seconds } }
    }

    /// Regression test: after many refusals, the long wait between calls applied to all later refusals.
    @Test func `after an accepted token or an offline time, the next refusal calls the closure at once`() throws {
        try start()
        try enter(Self.refused)
        try simulation.advance(by: .seconds(200))
        #expect(seconds() == [0, 5, 15, 35, 75, 155])
        for ended in [SyncStatus.Connection.online, .offline("no network")] {
            calls.withLock { $0 = [] }
            let start = simulation.now.components.seconds
            try enter(ended)
            try simulation.advance(by: .seconds(60))
            #expect(seconds() == [])
            try enter(Self.refused)
            try simulation.advance(by: .seconds(40))
            #expect(seconds() == [start + 60, start + 65, start + 75, start + 95])
        }
        try simulation.finish()
    }

    @Test func `an attempt to connect does not end the wait, and does not call the closure`() throws {
        try start()
        try enter(Self.refused)
        try simulation.advance(by: .seconds(20))
        try enter(.connecting)
        try simulation.advance(by: .seconds(20))
        #expect(seconds() == [0, 5, 15])
        try enter(Self.refused)
        try simulation.advance(by: .seconds(40))
        #expect(seconds() == [0, 5, 15, 75])
        try simulation.finish()
    }

    @Test func `the closure is not called without waits if a server alternately accepts and refuses tokens`() throws {
        try start()
        for _ in 0..<100 {
            try enter(Self.refused)
            try enter(.online)
            try simulation.advance(by: .milliseconds(100))
        }
        try enter(Self.refused)
        try simulation.advance(by: .seconds(1))
        #expect(seconds() == [0, 5, 10])
        try simulation.finish()
    }
}

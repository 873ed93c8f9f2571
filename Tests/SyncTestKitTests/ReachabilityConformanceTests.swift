import SyncConcurrency
import SyncCore
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

/// Tests that the conformance suite accepts the test kit's implementations of `Reachability`, and detects flawed ones.
@Suite(.ring(.unit)) struct ReachabilityConformanceTests {
    private static let simulated = ReachabilityConformance(
        .init(make: { SimulatedReachability() }, set: { ($0 as? SimulatedReachability)?.set($1) }))

    @Test(.timeLimit(.minutes(10)), arguments: simulated.rules) func `simulated links keep the rules of the port`(
        rule: String
    ) async throws {
        try await Self.simulated.run(rule)
    }

    private static let fake = ReachabilityConformance(
        .init(make: { FakeReachability() }, set: { ($0 as? FakeReachability)?.set($1) }))

    @Test(.timeLimit(.minutes(10)), arguments: fake.rules) func `fake links keep the rules of the port`(
        rule: String
    ) async throws {
        try await Self.fake.run(rule)
    }

    /// Flaws of an implementation that the suite must detect.
    enum Flaw: CaseIterable {
        case endsAtOnce, forgets, tellsTooEarly

        /// A rule that the flaw breaks.
        var rule: String {
            switch self {
            case .endsAtOnce: "a watch continues until it is cancelled"
            case .forgets, .tellsTooEarly: "every change is announced to all watchers, after it can be read"
            }
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: Flaw.allCases) func `the suite detects flawed links`(flaw: Flaw) async {
        let suite = ReachabilityConformance(
            .init(make: { FlawedReachability(flaw) }, set: { ($0 as? FlawedReachability)?.set($1) }))
        await #expect(throws: ConformanceViolation.self) { try await suite.run(flaw.rule) }
    }

    private final class FlawedReachability: Reachability {
        let changes = Broadcast<LinkState>()
        private let flaw: Flaw
        private let base = SimulatedReachability()

        init(_ flaw: Flaw) {
            self.flaw = flaw
        }

        var current: LinkState { flaw == .forgets ? .up : base.current }

        func set(_ state: LinkState) {
            if flaw != .tellsTooEarly { base.set(state) }
            changes.publish(state)
        }

        func run() async throws {
            if flaw != .endsAtOnce { try await base.run() }
        }
    }
}

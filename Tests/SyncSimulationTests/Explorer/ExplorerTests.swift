import SyncSimulation
import TestRings
import Testing

/// Explores small worlds. `tools/soak explore` explores every state of larger ones.
@Suite(.ring(.test), .onWorldThreads) struct ExplorerTests {
    @Test func `every state of two devices with one write each keeps the invariants`() {
        let report = Explorer(writes: 1, faults: 0).run()
        #expect(report.violation == nil, "\(report.violation.map(\.description) ?? "")")
        #expect(report.isComplete && report.rests > 0, "\(report)")
        #expect(report.states > 4_000, "the world has shrunk to \(report.states) states")
    }

    @Test func `a report says that it is incomplete if the limit of states is reached`() {
        let report = Explorer(writes: 2, faults: 2, stateLimit: 2_000).run()
        #expect(!report.isComplete)
        #expect(report.violation == nil, "\(report.violation.map(\.description) ?? "")")
    }
}

import SyncConcurrency
import SyncSimulation
import TestRings
import Testing

@testable import SyncCore

/// Tests the tasks of an engine.
@Suite(.ring(.unit)) struct EngineRuntimeTests {
    @TaskLocal private static var owner = "none"

    /// Regression test: a sync that was opened inside a service of the application ended with that service.
    @Test func `a task inherits nothing from its starter`() async {
        let simulation = Simulation(seed: 1)
        var runtime = simulation.makeRuntime(device: "phone")
        runtime.taskExecutor = nil
        let found = Guarded("")
        await Self.$owner.withValue("application") {
            await runtime.spawn { found.withLock { $0 = Self.owner } }.value
        }
        #expect(found.withLock { $0 } == "none")
    }
}

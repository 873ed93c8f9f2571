import SyncConcurrency
import SyncSimulation
import SyncTestKit
import TestRings
import Testing
import Tombolo

/// Tests waits for changes of a live object, on virtual time.
@Suite(.ring(.unit)) struct ObjectSequenceTests {
    @Test func `a wait for a draft ends when the draft is discarded`() throws {
        let testbed = try SyncTestbed(models: [Person.self])
        let phone = try testbed.device("phone")
        let draft = try phone.draft(Person.self)
        let failure = Guarded<ModelError?>(nil)
        _ = testbed.simulation.start("reader") {
            do throws(ModelError) { try await draft.arrival() } catch { failure.withLock { $0 = error } }
        }
        try testbed.advance(by: .seconds(1))
        #expect(failure.withLock { $0 } == nil)
        try testbed.run { try await draft.delete() }
        try testbed.advance(by: .seconds(1))
        #expect(failure.withLock { $0?.code } == .gone)
        try testbed.finish()
    }
}

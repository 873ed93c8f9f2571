import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

/// Tests when a world reads the files of its devices.
@Suite(.ring(.test), .onWorldThreads) struct FileAuditTests {
    /// An inspector that reports a wrong count in every file.
    private struct Complaint: ReplicaInspector {
        let base: any ReplicaInspector

        func facts() throws -> ReplicaFacts {
            var facts = try base.facts()
            facts.wrongCounts.append("planted")
            return facts
        }

        func outbox() throws -> [OutboxRow] { try base.outbox() }
    }

    @Test func `a file is read at the fourth step even if it has not changed since the first`() throws {
        var parts = WorldParts.onSQLite()
        let audit = try #require(parts.auditReplica)
        parts.auditReplica = { Complaint(base: try audit($0)) }
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 1))
        // After the first moment, the device has nothing left to do for a while.
        let moment = WorldScript.Moment([], pause: .milliseconds(1))
        script.moments = [.init([], pause: .seconds(60))] + Array(repeating: moment, count: 7)
        do {
            _ = try World(script, parts: parts).run()
            Issue.record("the file was never read")
        } catch {
            #expect((error.cause as? Violation)?.text.contains("planted") == true, "\(error)")
            #expect(error.step == 4)
        }
    }
}

import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

/// Tests that restore the server's folder from a copy without telling any device. At rest, all parties must hold the
/// same data, and each lost write must be current, sent again, or in a journal (I1, I4, I15).
@Suite(.ring(.test), .onWorldThreads) struct SilentRestoreTests {
    /// Returns a script in which three devices write, and in between the server is restored from a backup.
    static func script(seed: UInt64, isCutOff: Bool) -> WorldScript {
        var plan = WorldPlan.calm(seed: seed, devices: 3, steps: 60)
        // Devices that are cut off stay offline until the script reconnects them.
        plan.rates.recover = 0
        var script = plan.script
        func insert(_ happenings: [WorldEvent], at step: Int) {
            guard script.moments.indices.contains(step) else { return }
            script.moments[step].happenings.insert(contentsOf: happenings, at: 0)
        }
        insert([.server(.backedUp)], at: 20)
        // One device never sees the lost commits. It continues from the copy while the others are offline, so that the
        // history forks.
        if isCutOff { insert([.device(2, .cutOff(.toServer))], at: 20) }
        insert([.server(.restoredSilently)], at: 24)
        if isCutOff {
            insert([.device(2, .recovers), .device(0, .losesLink), .device(1, .losesLink)], at: 24)
            insert([.device(0, .recovers), .device(1, .recovers)], at: 54)
        }
        return script
    }

    /// Without the fingerprints of commits, the server could not tell two histories of the same length apart.
    @Test func `the oracles detect a server whose fingerprints are all equal`() {
        let parts = WorldParts.plantingInServer(
            """
            CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON change_feed BEGIN
                UPDATE change_feed SET chain = zeroblob(16) WHERE space = NEW.space AND version = NEW.version;
            END
            """)
        let isFound = (UInt64(1)...6).contains { seed in
            do throws(WorldError) {
                _ = try World(Self.script(seed: seed, isCutOff: true), parts: parts).run()
                return false
            } catch {
                return error.cause is Violation
            }
        }
        #expect(isFound)
    }

    @Test(arguments: [true, false])
    func `devices converge with a server that was restored without notice`(isCutOff: Bool) throws {
        for seed in UInt64(1)...TestRing.sample(1, 6) {
            _ = try World(Self.script(seed: seed, isCutOff: isCutOff), parts: .onSQLite()).run()
        }
    }
}

import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

/// The server's folder is put back from a copy, and nobody says so. At rest everybody holds the same data, and what was lost is
/// current, sent again, or in a journal (I1, I4, I15).
@Suite(.ring(.test), .onWorldThreads) struct SilentRestoreTests {
    /// Three devices that write for a while; the backup is put back between.
    static func script(seed: UInt64, isCutOff: Bool) -> WorldScript {
        var plan = WorldPlan.calm(seed: seed, devices: 3, steps: 60)
        // Those that are cut off stay so until they are told.
        plan.rates.recover = 0
        var script = plan.script
        func insert(_ happenings: [Happening], at step: Int) {
            guard script.moments.indices.contains(step) else { return }
            script.moments[step].happenings.insert(contentsOf: happenings, at: 0)
        }
        insert([.server(.backedUp)], at: 20)
        // One device never sees what is lost, and goes on from the copy: the two histories fork.
        if isCutOff { insert([.device(2, .cutOff(.toServer))], at: 20) }
        insert([.server(.restoredSilently)], at: 24)
        if isCutOff {
            insert([.device(2, .recovers), .device(0, .losesLink), .device(1, .losesLink)], at: 24)
            insert([.device(0, .recovers), .device(1, .recovers)], at: 54)
        }
        return script
    }

    /// Without the fingerprints of commits nothing shows that two histories of one length are two.
    @Test func `a server whose fingerprints are all alike is found out`() {
        let parts = WorldParts.plantingInServer(
            """
            CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON log BEGIN
                UPDATE log SET chain = zeroblob(16) WHERE space = NEW.space AND version = NEW.version;
            END
            """)
        let found = (UInt64(1)...6).filter { seed in
            do throws(WorldFailure) {
                _ = try World(Self.script(seed: seed, isCutOff: true), parts: parts).run()
                return false
            } catch {
                return error.cause is Violation
            }
        }
        #expect(!found.isEmpty)
    }

    @Test(arguments: [true, false])
    func `devices and a server that was restored in silence come to hold the same`(isCutOff: Bool) throws {
        for seed in UInt64(1)...6 {
            _ = try World(Self.script(seed: seed, isCutOff: isCutOff), parts: .onSQLite()).run()
        }
    }
}

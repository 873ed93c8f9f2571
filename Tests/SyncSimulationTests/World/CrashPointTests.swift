import SimulationRecipes
import SyncSimulation
import Testing

/// A fault at the first operation of a disk that changes something, at the second, at the third … until the scenario
/// passes without meeting it.
@Suite
struct CrashPointTests {
    static let effects: [DiskFault.Effect] = [.losePower, .kill, .fail(.inputOutput), .fail(.full)]

    @Test(arguments: effects)
    func `a device may meet a fault at any change of its disk`(effect: DiskFault.Effect) throws {
        let points = try Self.enumerate(.device(0), .changes, effect)
        #expect(points > 40)
    }

    @Test(arguments: effects)
    func `the server may meet a fault at any change of its disk`(effect: DiskFault.Effect) throws {
        let points = try Self.enumerate(.server, .changes, effect)
        #expect(points > 60)
    }

    @Test(arguments: [Party.device(0), .server])
    func `any lock may be refused once`(party: Party) throws {
        let points = try Self.enumerate(party, [.lock, .sharedMemoryLock], .fail(.busy))
        #expect(points > 40)
    }

    /// Every so manieth point is tried; the wide run tries all of them.
    private static let stride = Soak.isOn ? 1 : 5

    /// How many points there were.
    private static func enumerate(
        _ party: Party, _ operations: DiskOperations, _ effect: DiskFault.Effect
    ) throws -> Int {
        var points = 0
        while true {
            var script = WorldPlan.calm(seed: 7, steps: 12).script
            script.planned = [.init(party, DiskFault(operations, skip: points, effect: effect))]
            let report = try World(script, parts: .onSQLite()).run()
            if report.coverage.diskFaults == 0 { return points }
            points += stride
        }
    }
}

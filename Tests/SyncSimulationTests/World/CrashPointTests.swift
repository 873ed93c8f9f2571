import SyncSimulation
import Testing

/// A fault at the first operation of a disk that changes something, at the second, at the third … until the scenario
/// passes without meeting it.
@Suite
struct CrashPointTests {
    static let effects: [DiskFault.Effect] = [.losePower, .kill, .fail(.inputOutput), .fail(.full)]

    @Test(arguments: effects)
    func `a device may meet a fault at any change of its disk`(effect: DiskFault.Effect) throws {
        var point = 0
        while true {
            var plan = WorldPlan.calm(seed: 7, steps: 8)
            plan.planned = [.init(.device(0), DiskFault(.changes, skip: point, effect: effect))]
            let report = try World(plan, parts: .real()).run()
            if report.faults["disk faults"] == 0 { break }
            point += 1
        }
        #expect(point > 40)
    }
}

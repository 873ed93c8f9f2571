import SimulationRecipes
import SyncModel
import SyncSimulation
import TestRings
import Testing

/// Wall clocks decide nothing but which of two edits is the later (I22).
@Suite(.ring(.check), .onWorldThreads)
struct ClockTests {
    /// The part that may not depend on the clock: everything but names and stamps.
    struct Outcome: Hashable {
        let operations: Int
        let commits: Int
        let refusals: [String: Int]
        let timeToRest: Duration
        let duration: Duration

        init(_ report: WorldReport) {
            operations = report.operations
            commits = report.commits
            refusals = report.refusals
            timeToRest = report.timeToRest
            duration = report.duration
        }
    }

    /// One device: two would meet each other, and then clocks decide as they should.
    private static func outcome(seed: UInt64, clocksWrongBy error: Duration, parts: WorldParts) throws -> Outcome {
        var plan = WorldPlan.drawn(seed: seed, steps: 60)
        plan.setting.devices = 1
        plan.rates.jumpClock = 0
        plan.rates.driftClock = 0
        plan.rates.deviceDiskFault = 0
        plan.rates.serverDiskFault = 0
        plan.rates.fillDisk = 0
        var script = plan.script
        if error != .zero {
            script.moments.insert(
                WorldScript.Moment([.device(0, .clock(wrongBy: error))], pause: .zero), at: 0)
        } else {
            script.moments.insert(WorldScript.Moment([], pause: .zero), at: 0)
        }
        return Outcome(try World(script, parts: parts).run())
    }

    static let errors: [Duration] = [.seconds(20), .seconds(-20), .seconds(86_400 * 365), .seconds(86_400 * 3_650)]

    @Test(arguments: errors, [3, 4, 7] as [UInt64])
    func `a clock that is wrong by a constant changes nothing`(error: Duration, seed: UInt64) throws {
        let right = try Self.outcome(seed: seed, clocksWrongBy: .zero, parts: .onSQLite())
        let wrong = try Self.outcome(seed: seed, clocksWrongBy: error, parts: .onSQLite())
        #expect(right == wrong)
    }
}

import SimulationRecipes
import SyncModel
import SyncSimulation
import TestRings
import Testing

/// Tests that wall clocks decide only which of two edits is the later one (I22).
@Suite(.ring(.check), .onWorldThreads)
struct ClockTests {
    /// The statistics of a run that must not depend on the clock. The hash of a run is not among them, because record
    /// ids and stamps contain times.
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

    /// Runs a world with one device. Between two devices, the clocks rightly decide conflicts.
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
    func `a constant clock error does not change the outcome`(error: Duration, seed: UInt64) throws {
        let right = try Self.outcome(seed: seed, clocksWrongBy: .zero, parts: .onSQLite())
        let wrong = try Self.outcome(seed: seed, clocksWrongBy: error, parts: .onSQLite())
        #expect(right == wrong)
    }
}

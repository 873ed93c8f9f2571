import SimulationRecipes
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

/// Tests which requests a fault of the simulated network affects, and how the fault is counted.
@Suite(.ring(.test), .onWorldThreads) struct NetworkFaultTests {
    @Test func `a false refusal of a push is counted before the server has handled the push`() throws {
        var script = WorldPlan.calm(seed: 1, devices: 1, steps: 60).script
        // The fault is added to each moment, because it ends when the device reconnects.
        for moment in script.moments.indices {
            script.moments[moment].happenings.append(.device(0, .receivesFalseResponses(.refusal, times: 1_000)))
        }
        let counts = try World(script, parts: .onSQLite()).run().coverage.counts
        #expect((counts[FaultCoverage.Cell(.serverLies, .pushTravels)] ?? 0) > 0)
        #expect(counts[FaultCoverage.Cell(.serverLies, .pushCommitted)] == nil)
    }

    @Test func `a stale response without an earlier one is counted as a response of another shape`() throws {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 1))
        // The cache is still empty when the device sends its first hello.
        script.moments = [.init([.device(0, .meets(.stale, times: 1))], pause: .seconds(60))]
        let coverage = try World(script, parts: .onSQLite()).run().coverage
        #expect(coverage.total(of: .staleResponse) == 0)
        #expect(coverage.total(of: .wrongShape) == 1)
    }

    @Test(arguments: [DeviceFault.cutOff(.toServer), .meets(.serverError, times: 1_000_000)])
    func `a fault between a device and the server affects its second engine, too`(fault: DeviceFault) throws {
        var script = WorldScript(setting: WorldSetting(seed: 1, devices: 1))
        script.setting.policy.listensForHints = false
        script.moments = [
            .init([], pause: .seconds(60)),
            .init([.device(0, .rivalStarts)], pause: .seconds(60)),
            // Requests that are in transit may still arrive.
            .init([.device(0, fault)], pause: .seconds(1)),
            .init([], pause: .seconds(1_800)),
        ]
        let pulls = Guarded<[Duration]>([])
        let parts = WorldParts.wrappingAuthority {
            $0.onPull = { (base, request, principal, now) throws(AuthorityError) in
                let time = Duration.milliseconds(now.milliseconds - Simulation.startTime.milliseconds)
                if principal.name == "device0" { pulls.withLock { $0.append(time) } }
                return try base.pull(request, by: principal, now: now)
            }
        }
        let report = try World(script, parts: parts).run()
        #expect(report.coverage.total(of: .rivalEngine) == 1)
        let times = pulls.withLock { $0 }
        #expect(times.contains { $0 > .seconds(60) && $0 < .seconds(120) })
        #expect(!times.contains { $0 > .seconds(121) && $0 < .seconds(1_921) })
    }
}

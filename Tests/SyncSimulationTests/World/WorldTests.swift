import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

@Suite(.ring(.test), .onWorldThreads)
struct WorldTests {
    @Test func `a calm world comes to rest`() throws {
        let report = try World(.calm(seed: 1), parts: .onSQLite()).run()
        #expect(report.operations > 50)
        #expect(report.commits > 30)
        #expect(Set(report.refusals.keys).isSubset(of: ["stillReferenced", "duplicateRecord"]), "\(report.refusals)")
        #expect(report.timeToRest < .seconds(60))
    }

    @Test(.ring(.check)) func `a device with more former identities than a push can name learns what it lost`()
        throws
    {
        let most = Guarded(0)
        for seed in TestRing.sample(0..<2, 0..<4) as Range<UInt64> {
            var plan = WorldPlan.calm(seed: seed, devices: 3, steps: 100)
            plan.rates.refuseIdentities = 0.05
            plan.rates.dropLink = 0.05
            plan.rates.recover = 0.05
            plan.pause = .seconds(10)...(.seconds(100))
            let parts = WorldParts.wrappingTransports {
                $0.onPull = { (base, request, _) async throws(TransportError) in
                    most.withLock { $0 = max($0, request.notices?.clients.count ?? 0) }
                    return try await base.pull(request)
                }
            }
            _ = try World(plan, parts: parts).run()
        }
        #expect(most.withLock { $0 } > SchemaLimits.formerNumbers + 1)
    }

    @Test func `users act alone or in bursts, and the number of operations is as planned`() {
        var plan = WorldPlan.calm(seed: 3, devices: 3, steps: 100)
        func bursts() -> [Int] {
            plan.script.moments.map { $0.happenings.count { if case .operation = $0 { true } else { false } } }
        }
        #expect(bursts() == Array(repeating: 1, count: 100))
        plan.burst = 8
        let crowded = bursts()
        #expect(crowded.reduce(0, +) == 100)
        #expect(Set(crowded).isSubset(of: Set(1...8)) && Set(crowded).count > 3)
    }

    @Test func `the same seed gives the same world`() throws {
        for seed in TestRing.sample(0..<1, 0..<4) as Range<UInt64> {
            let first = try World(.drawn(seed: seed, steps: 60), parts: .onSQLite()).run()
            let second = try World(.drawn(seed: seed, steps: 60), parts: .onSQLite()).run()
            #expect(first == second)
        }
    }

    @Test(.ring(.check)) func `a device that does not flush each commit loses some in a power loss`() throws {
        var lost = 0
        for seed in 0..<12 as Range<UInt64> {
            var plan = WorldPlan.calm(seed: seed, steps: 60)
            plan.setting.unflushed = [0]
            plan.rates.losePowerOfDevice = 0.1
            let mixed = try World(plan, parts: .onSQLite()).run()
            lost += mixed.lostCommits
            plan.setting.unflushed = []
            #expect(try World(plan, parts: .onSQLite()).run().lostCommits == 0)
        }
        #expect(lost > 0)
    }

    @Test func `a device that does not flush each commit loses none when its process is killed`() throws {
        for seed in TestRing.sample(0..<2, 0..<4) as Range<UInt64> {
            var plan = WorldPlan.calm(seed: seed, steps: 60)
            plan.setting.unflushed = [0, 1]
            plan.rates.killDevice = 0.2
            #expect(try World(plan, parts: .onSQLite()).run().lostCommits == 0)
        }
    }

    @Test(arguments: TestRing.sample(0..<2, 0..<4) as Range<UInt64>)
    func `devices that have slept for days are soon in sync`(seed: UInt64) throws {
        var plan = WorldPlan.calm(seed: seed, devices: 3, steps: 80)
        plan.rates.sleepForDays = 0.05
        plan.rates.recover = 0.1
        let report = try World(plan, parts: .onSQLite()).run()
        #expect(report.coverage.total(of: .deviceSleptForDays) > 0)
        #expect(report.duration > SimulationLimits.day)
        #expect(report.timeToRest < .seconds(60))
    }

    @Test(arguments: [StoreError.Code.corrupt, .contradiction])
    func `a store that finds damage on a working disk breaks a promise`(code: StoreError.Code) throws {
        let parts = WorldParts.wrappingStores {
            $0.onCommit = { (_, _, _, _, _) throws(StoreError) in throw StoreError(code, "planted") }
        }
        let failure = #expect(throws: WorldError.self) {
            _ = try World(.calm(seed: 1, steps: 20), parts: parts).run()
        }
        #expect((failure?.cause as? Violation)?.invariant == .I25, "\(String(describing: failure))")
    }

    @Test func `worlds of many seeds keep every promise`() throws {
        var operations = 0
        var coverage = FaultCoverage()
        var longestRest = Duration.zero
        for seed in Soak.seeds {
            do {
                let report = try World(.drawn(seed: seed, steps: Soak.steps), parts: .onSQLite()).run()
                operations += report.operations
                coverage.add(report.coverage)
                longestRest = max(longestRest, report.timeToRest)
            } catch {
                Issue.record("\(error)")
            }
        }
        // This fails if the generator produces too few operations.
        #expect(operations > Soak.seeds.count * Soak.steps / 2)
        if Soak.isOn { #expect(coverage.missing.isEmpty, "never seen: \(coverage.missing)") }
        print("\(Soak.seeds.count) worlds, \(operations) operations, longest rest \(longestRest)")
        if Soak.isOn { for line in coverage.table { print(line) } }
    }
}

import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

/// Runs a sample of the crash points of one scenario. `syncsim crash` runs all crash points of every scenario.
@Suite(.ring(.test), .onWorldThreads) struct CrashPointTests {
    static let series = CrashSeries.all.filter { $0.scenario.name == "two devices write" }

    @Test func `the sampled scenario exists, with series for the server and both devices`() {
        #expect(Set(Self.sampled.map(\.party)) == [.server, .device(0), .device(1)])
    }

    /// The distance between the crash points that are run in each series.
    static let stride = 397

    /// The series to run: one of three in `tools/test`, for the server and both devices.
    static let sampled = TestRing.sample(series.enumerated().filter { $0.offset % 3 == 0 }.map(\.element), series)

    @Test(arguments: sampled)
    func `a scenario keeps every promise if any disk operation fails`(series: CrashSeries) throws {
        let points = try series.run(every: Self.stride) { try World($0, parts: .onSQLite()).run() }
        #expect(points > 0, "the fault has never struck")
    }

    @Test(.ring(.check)) func `series names are unique, and the crash points of a series have different seeds`() throws
    {
        #expect(Set(CrashSeries.all.map(\.description)).count == CrashSeries.all.count)
        for series in CrashSeries.all {
            let scripts = (0..<10).map { series.script(at: $0) }
            #expect(Set(scripts.flatMap(\.planned).map(\.seed)).count == scripts.count)
            for script in scripts { #expect(try WorldScript(text: script.text) == script) }
        }
    }

    @Test(.ring(.check)) func `the seed of a planned loss of power decides what the disk keeps`() throws {
        var script = try #require(CrashScenario.all.first).script
        let hashes = try (0..<32 as Range<UInt64>).map { seed in
            let fault = DiskFault(.sync, of: .wal, skip: 4, effect: .losePower)
            script.planned = [.init(.device(0), fault, seed: seed)]
            return try World(script, parts: .onSQLite()).run().hash
        }
        #expect(Set(hashes).count > 1)
    }

    @Test func `every scenario passes without added faults and has the faults of its script`() throws {
        // In `tools/test`, only every third scenario runs.
        for (number, scenario) in CrashScenario.all.enumerated() where number.isMultiple(of: TestRing.sample(3, 1)) {
            let report = try World(scenario.script, parts: .onSQLite()).run()
            #expect(report.commits > 3, "\(scenario.name)")
            let told = Set(FaultKind.allCases.filter { report.coverage.total(of: $0) > 0 })
            let scripted = scenario.script.moments.flatMap(\.happenings).contains { happening in
                if case .operation = happening { false } else { true }
            }
            if scripted { #expect(!told.isEmpty, "\(scenario.name)") }
        }
    }
}

import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

/// Runs a sample of the crash points. `syncsim crash` runs all of them.
@Suite(.ring(.test), .onWorldThreads) struct CrashPointTests {
    static let series = CrashSeries.all.filter { $0.scenario.name == "two devices write" }

    /// The distance between the crash points that are run in each series.
    static let stride = TestRing.sample(397, 7)

    @Test(arguments: series)
    func `a scenario keeps every promise if any disk operation fails`(series: CrashSeries) throws {
        let points = try series.run(every: Self.stride) { try World($0, parts: .onSQLite()).run() }
        #expect(points > 0, "the fault has never struck")
    }

    @Test func `every scenario passes without added faults and has the faults of its script`() throws {
        // Narrow runs take every third scenario.
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

import Foundation
import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

/// Proves that the oracles detect bugs: a world with a planted bug fails. `syncsim bugs` plants the other bugs.
@Suite(.ring(.test), .onWorldThreads)
struct PlantedBugTests {
    @Test(arguments: PlantedBug.all.filter(\.isQuick))
    func `the oracles find each quick planted bug`(bug: PlantedBug) throws {
        _ = try BugHunt(for: bug, runsWithoutBug: false).run()
    }

    @Test(.ring(.check)) func `a bug that no oracle finds is missed`() {
        var harmless = PlantedBug.all[0]
        harmless.parts = { .onSQLite() }
        #expect(throws: BugHunt.Miss.self) { try BugHunt(for: harmless, worlds: 1, runsWithoutBug: false).run() }
    }

    @Test func `the names of planted bugs are unique`() {
        #expect(Set(PlantedBug.all.map(\.name)).count == PlantedBug.all.count)
    }

    @Test func `the documentation tells how many bugs are planted`() throws {
        let (all, rare) = (PlantedBug.all.count, PlantedBug.all.count(where: \.isRare))
        #expect(rare == 4)
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        for (file, sentence) in [
            ("README.md", "| planted bugs | \(all); `tools/check` finds \(all - rare) of them, and four rare ones"),
            (
                "Sources/Root/Tombolo/Tombolo.docc/Simulation.md",
                "Therefore, \(all) bugs are kept beside the simulation"
            ),
        ] {
            let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            #expect(text.contains(sentence), "\(file): \(sentence)")
        }
    }

    @Test func `the quick planted bugs exist and cover each promise that worlds check`() {
        let quick = PlantedBug.all.filter(\.isQuick)
        #expect(PlantedBug.quick.subtracting(quick.map(\.name)).isEmpty, "no planted bugs have these names")
        let all = Set(PlantedBug.all.map { $0.breaks[0] })
        let missing = all.subtracting(quick.flatMap(\.breaks)).map(\.rawValue).sorted()
        #expect(missing.isEmpty, "no quick planted bug breaks \(missing)")
    }

    @Test func `each promise has at least two planted bugs`() {
        for invariant in Invariant.allCases where invariant.reasonNotChecked == nil {
            let worlds = PlantedBug.all.count { $0.breaks[0] == invariant }
            let scenarios = Self.elsewhere[invariant] ?? 0
            #expect(worlds + scenarios >= 2, "\(invariant): \(invariant.promise)")
        }
    }

    /// The number of bugs that are planted in separate scenarios.
    private static let elsewhere: [Invariant: Int] = [
        .I21: ScopeTests.Planted.allCases.count,
        .I23: DatabaseTests.Planted.allCases.count,
    ]
}

import SimulationRecipes
import SyncConcurrency
import SyncModel
import SyncSimulation
import TestRings
import Testing

/// Proves that the oracles detect bugs: a world with a planted bug fails.
@Suite(.ring(.test), .onWorldThreads)
struct MutantTests {
    static let mutants = Mutant.all.filter { Soak.isOn || $0.ring <= .current }

    /// The number of worlds to try. If none of them finds a mutant, the users' operations or the oracles have a gap.
    private static let worlds: UInt64 = Soak.isOn ? 60 : 16

    @Test(arguments: mutants)
    func `the oracles find each planted bug`(mutant: Mutant) throws {
        let start = ContinuousClock().now
        var virtual = Duration.zero
        var others: [String] = []
        for seed in 0..<Self.worlds {
            var plan = WorldPlan.drawn(seed: seed, steps: 150)
            // A server's false responses could break a promise in another way than the bug does. A mutant that needs
            // them sets their rate in its shape.
            plan.rates.lie = 0
            plan.rates.refuseIdentities = 0
            plan.useCurrentBuilds()
            mutant.shape(&plan)
            let world = World(plan, parts: mutant.parts())
            defer { virtual += world.simulation.now }
            do {
                _ = try world.run()
            } catch {
                guard let violation = error.cause as? Violation else {
                    others.append("\(error.cause)")
                    continue
                }
                let isNoticedByStore = mutant.damagesStores && violation.invariant == .I25
                #expect(
                    isNoticedByStore || mutant.breaks.contains(violation.invariant),
                    "\(mutant.name) was found, but by \(violation)")
                if mutant.isFoundByUsers, !violation.text.contains("told its user") {
                    // Another oracle found a violation first in this world.
                    others.append("\(violation)")
                    continue
                }
                // This check is slower than finding the bug, because the world without the bug runs to its end.
                if let parts = mutant.partsWithoutBug, TestRing.current >= .check {
                    checkPassesWithoutBug(plan, parts: parts())
                }
                print(
                    Row(
                        mutant: mutant, invariant: violation.invariant, worlds: Int(seed) + 1,
                        virtual: virtual + world.simulation.now, real: ContinuousClock().now - start))
                return
            }
        }
        Issue.record(
            "\(mutant.name) was not found in \(Self.worlds) worlds: \(mutant.sentence). Other ends: \(others.prefix(3))"
        )
    }

    /// Checks that the same world keeps all promises with parts that have no bug, so that neither its shape nor the
    /// parts are the cause of the violation.
    private func checkPassesWithoutBug(_ plan: WorldPlan, parts: WorldParts) {
        do {
            _ = try World(plan, parts: parts).run()
        } catch {
            Issue.record("seed \(plan.setting.seed) breaks a promise without a planted bug: \(error)")
        }
    }

    @Test func `the names of mutants are unique`() {
        #expect(Set(Mutant.all.map(\.name)).count == Mutant.all.count)
    }

    @Test func `the quick mutants exist and cover each promise that worlds check`() {
        let quick = Mutant.all.filter { $0.ring == .test }
        #expect(Mutant.quick.subtracting(quick.map(\.name)).isEmpty, "no mutants have these names")
        let all = Set(Mutant.all.map { $0.breaks[0] })
        let missing = all.subtracting(quick.flatMap(\.breaks)).map(\.rawValue).sorted()
        #expect(missing.isEmpty, "no quick mutant breaks \(missing)")
    }

    @Test func `each promise has at least two planted bugs`() {
        for invariant in Invariant.allCases where invariant.reasonNotChecked == nil {
            let worlds = Mutant.all.count { $0.breaks[0] == invariant }
            let scenarios = Self.elsewhere[invariant] ?? 0
            #expect(worlds + scenarios >= 2, "\(invariant): \(invariant.promise)")
        }
    }

    /// The number of bugs that are planted in separate scenarios.
    private static let elsewhere: [Invariant: Int] = [
        .I21: ScopeTests.Planted.allCases.count,
        .I23: DatabaseTests.Planted.allCases.count,
    ]

    /// A row of the table that the test prints.
    private struct Row: CustomStringConvertible {
        let mutant: Mutant
        let invariant: Invariant
        let worlds: Int
        let virtual: Duration
        let real: Duration

        var description: String {
            let name = mutant.name.padding(to: 40)
            let effect = invariant == mutant.breaks[0] ? "" : "  (an effect of \(mutant.breaks[0]))"
            let seconds = virtual.components.seconds
            let milliseconds = real.wholeMilliseconds
            return
                "mutant  \(name) \(invariant.rawValue.padding(to: 4)) \(worlds) worlds  \(seconds) s virtual  \(milliseconds) ms\(effect)"
        }
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}

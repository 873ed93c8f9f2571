import SyncAuthority
import SyncSimulation

/// A search for a planted bug: it runs worlds with the bug until an oracle finds it.
package struct BugHunt: Sendable {
    private let bug: PlantedBug
    private let worlds: UInt64
    private let runsWithoutBug: Bool

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - worlds: the number of worlds to try. If none of them finds a bug, the users' operations or the oracles have
    ///     a gap.
    ///   - runsWithoutBug: whether to also run the world that finds the bug without the bug, which is slower.
    package init(for bug: PlantedBug, worlds: UInt64 = 16, runsWithoutBug: Bool) {
        self.bug = bug
        self.worlds = worlds
        self.runsWithoutBug = runsWithoutBug
    }

    /// A bug that an oracle has found.
    package struct Find: Sendable, CustomStringConvertible {
        let bug: PlantedBug
        let invariant: Invariant
        /// The number of worlds up to the one that found the bug.
        let worlds: UInt64
        /// The virtual time of these worlds.
        let time: Duration

        package var description: String {
            let effect = invariant == bug.breaks[0] ? "" : ", an effect of \(bug.breaks[0].rawValue)"
            let count = worlds == 1 ? "1 world" : "\(worlds) worlds"
            return "\(bug.name): found by \(invariant.rawValue)\(effect), in \(count) and \(time.components.seconds) s"
        }
    }

    /// A bug that no oracle has found, or only one that should not find it.
    package struct Miss: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// Runs the worlds of ascending seeds until an oracle finds the bug.
    ///
    /// - Throws: `Miss` if none of the worlds finds the bug, if an oracle of another promise finds it, or if the world
    ///   breaks a promise without the bug, too.
    package func run() throws(Miss) -> Find {
        var time = Duration.zero
        var others: [String] = []
        for seed in 0..<worlds {
            let plan = plan(seed)
            let world = World(plan, parts: bug.parts())
            let violation: Violation
            do {
                _ = try world.run()
                time += world.simulation.now
                continue
            } catch {
                time += world.simulation.now
                guard let cause = error.cause as? Violation else {
                    others.append("\(error.cause)")
                    continue
                }
                violation = cause
            }
            guard isExpected(violation.invariant) else {
                throw Miss(description: "\(bug.name) was found, but not by its own promise: \(violation)")
            }
            if bug.isFoundByUsers, !violation.text.contains("told its user") {
                // Another oracle found a violation first in this world.
                others.append("\(violation)")
                continue
            }
            if runsWithoutBug { try runWithoutBug(plan) }
            return Find(bug: bug, invariant: violation.invariant, worlds: seed + 1, time: time)
        }
        throw Miss(
            description:
                "\(bug.name) was not found in \(worlds) worlds: \(bug.sentence). Other ends: \(others.prefix(3))")
    }

    private func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: 150)
        // A server's false responses could break a promise in another way than the bug does. A bug that needs them sets
        // their rate in its shape.
        plan.rates.lie = 0
        plan.rates.refuseIdentities = 0
        plan.rates.falseClaim = 0
        plan.setting.hasRule = false
        plan.setting.hasSmallJournals = false
        plan.setting.limits = nil
        plan.setting.accounts = .unlimited
        plan.rates.changeQuota = 0
        plan.setting.hasCorrections = false
        plan.setting.restoresAny = false
        plan.useCurrentBuilds()
        bug.shape(&plan)
        return plan
    }

    private func isExpected(_ invariant: Invariant) -> Bool {
        bug.breaks.contains(invariant) || bug.damagesStores && invariant == .I25
    }

    /// Checks that the same world keeps all promises with parts that have no bug, so that neither its shape nor the
    /// parts are the cause of the violation.
    private func runWithoutBug(_ plan: WorldPlan) throws(Miss) {
        guard let parts = bug.partsWithoutBug else { return }
        do {
            _ = try World(plan, parts: parts()).run()
        } catch {
            throw Miss(
                description:
                    "seed \(plan.setting.seed), in which \(bug.name) was found, breaks a promise without it, too: \(error)"
            )
        }
    }
}

import SimulationRecipes
import SyncAuthority
import SyncSimulation

extension WorldPlan {
    /// Returns the plan of a seed, changed for the plain authority: one space that all devices may use, no
    /// rule for writes, and current builds.
    static func drawnForPlain(seed: UInt64, steps: Int) -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: steps)
        plan.setting.spaceCount = 1
        plan.setting.hasRule = false
        plan.setting.hasSmallJournals = false
        plan.setting.limits = nil
        plan.setting.accounts = .unlimited
        plan.rates.changeQuota = 0
        plan.setting.hasCorrections = false
        plan.setting.restoresAny = false
        plan.rates.changeAccess = 0
        plan.useCurrentBuilds()
        return plan
    }
}

extension WorldParts {
    /// Returns parts with SQLite stores and a plain authority that has the given bug, or none.
    static func plain(bug: PlainAuthority.Bug? = nil) -> WorldParts {
        let disk = PlainAuthority.Disk(catalog: WorldCatalog.catalog)
        let table = TableWire()
        var parts = WorldParts(
            wire: { _ in table }, openStore: { process, runtime, _ in try openLocalStore(process, runtime) },
            openAuthority: { _, _, _, _ in PlainAuthority(disk: disk, bug: bug) })
        parts.notifiesLosers = false
        return parts
    }
}

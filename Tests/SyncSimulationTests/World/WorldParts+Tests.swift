import SimulationRecipes
import SyncSimulation

extension WorldPlan {
    /// Returns the plan of a seed with one space that all may use, because the plain authority has only one.
    static func drawnForPlain(seed: UInt64, steps: Int) -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: steps)
        plan.setting.spaceCount = 1
        plan.rates.changeAccess = 0
        plan.useCurrentBuilds()
        return plan
    }
}

extension WorldParts {
    /// Returns parts with SQLite stores and the plain authority, with the given bug.
    static func plain(mutant: PlainAuthority.Mutant? = nil) -> WorldParts {
        let disk = PlainAuthority.Disk(catalog: WorldCatalog.catalog)
        let table = TableWire()
        var parts = WorldParts(
            wire: { _ in table }, openStore: { process, runtime, _ in try openLocalStore(process, runtime) },
            openAuthority: { _, _, _, _ in PlainAuthority(disk: disk, mutant: mutant) })
        parts.notifiesLosers = false
        return parts
    }
}

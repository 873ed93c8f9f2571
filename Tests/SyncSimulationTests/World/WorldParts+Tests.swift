import SimulationRecipes
import SyncSimulation

extension WorldPlan {
    /// The world of a seed, but with one space, which all may use: the plain authority knows no more.
    static func drawnForPlain(seed: UInt64, steps: Int) -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: steps)
        plan.setting.spaceCount = 1
        plan.rates.changeAccess = 0
        plan.useCurrentBuilds()
        return plan
    }
}

extension WorldParts {
    /// Stores on SQLite, and the plain authority with its bug.
    static func plain(mutant: PlainAuthority.Mutant? = nil) -> WorldParts {
        let disk = PlainAuthority.Disk(catalog: WorldCatalog.catalog)
        let table = TableWire()
        var parts = WorldParts(
            wire: { _ in table }, openStore: { process, runtime, _ in try openLocalStore(process, runtime) },
            openAuthority: { _, _, _, _ in PlainAuthority(disk: disk, mutant: mutant) })
        parts.tellsLosers = false
        return parts
    }
}

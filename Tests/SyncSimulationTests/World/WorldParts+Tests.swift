import SimulationRecipes
import SyncSimulation

extension WorldParts {
    /// Stores on SQLite, and the plain authority with its bug.
    static func plain(mutant: PlainAuthority.Mutant? = nil) -> WorldParts {
        let disk = PlainAuthority.Disk(catalog: WorldCatalog.catalog)
        return WorldParts(
            wire: TableWire(), openStore: { process, runtime, _ in try openLocalStore(process, runtime) },
            openAuthority: { _ in PlainAuthority(disk: disk, mutant: mutant) })
    }
}

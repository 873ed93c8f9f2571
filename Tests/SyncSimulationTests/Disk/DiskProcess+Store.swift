import SyncModel
import SyncSimulation
import SyncStoreSQLite

extension DiskProcess {
    /// Opens a device's store with the models of a world on the process's disk.
    func openStore(now: WallTime, random: inout SeededRandom) throws -> SQLiteStore {
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = vfsName
        configuration.connections = .single
        return try SQLiteStore.open(configuration, catalog: WorldCatalog.catalog, now: now, random: &random)
    }
}

import AuthorityStoreSQLite
import SQLiteDatabase
import SimulationRecipes
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite

extension WorldParts {
    /// Returns the real parts, with SQL that runs in every device's database after it is opened.
    static func plantingInStores(_ sql: String) -> WorldParts {
        PlantedChecksum.register()
        var parts = WorldParts.onSQLite()
        let open = parts.openStore
        parts.openStore = { process, runtime, storage in
            let store = try open(process, runtime, storage)
            try plant(sql, in: "/cache.sqlite", on: process)
            return store
        }
        return parts
    }

    /// Returns the real parts, with SQL that runs in the server's database after it is opened.
    static func plantingInServer(_ sql: String) -> WorldParts {
        var parts = WorldParts.onSQLite()
        let open = parts.openAuthority
        parts.openAuthority = { process, setting, rules, histories in
            let authority = try open(process, setting, rules, histories)
            try plant(sql, in: "/authority.sqlite", on: process)
            return authority
        }
        return parts
    }

    private static func plant(_ sql: String, in file: String, on process: DiskProcess) throws {
        do {
            try process.disk.withoutFaults {
                try Connection(opening: DatabaseURI.make(file, vfs: process.vfsName), busyTimeout: .zero).execute(sql)
            }
        } catch {
            throw StoreError(.inputOutput, "the bug cannot be planted: \(error)")
        }
    }
}

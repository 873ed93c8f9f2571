import SQLiteDatabase
public import SyncCore
public import SyncModel

extension SQLiteStore {
    /// Replaces a damaged database with a new one, and recovers the data that only this device has: its identity, its
    /// unconfirmed writes, and its journal.
    ///
    /// The next sync downloads the rest. The damaged files stay next to the new ones under other names. No process may
    /// have the database open, including this one.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - random: the random source for a new client id, if the former identity cannot be kept.
    /// - Throws: `busy` when a program has the database open; otherwise the error of the disk. The database is
    ///   unchanged then.
    public static func salvage(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, now: WallTime,
        random: inout some RandomNumberGenerator
    ) throws(StoreError) -> SalvageReport {
        let newClient = ClientID.make(at: now, random: &random)
        return try StoreError.converting {
            let files = DatabaseFiles(path: configuration.file)
            try files.prepareForClient(creatingIfMissing: false, forSalvage: true)
            guard let lock = try FileLock.locking(files.openLock, within: configuration.limits.busyTimeout) else {
                throw StoreError(.busy, "another program is opening the database: \(files.openLock)")
            }
            defer { withExtendedLifetime(lock) {} }
            return try Salvage.run(configuration, catalog: catalog, newClient: newClient, now: now)
        }
    }
}

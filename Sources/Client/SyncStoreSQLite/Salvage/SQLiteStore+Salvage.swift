public import SyncCore
public import SyncModel

extension SQLiteStore {
    /// Replaces a damaged database by a new one with everything that can still be read of what only this device has: who it
    /// is, writes that are not confirmed, the journal. The next sync downloads the rest again.
    ///
    /// The damaged files stay beside the new ones under names of their own. No process may have the database open, this one
    /// included.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - random: for the identity of the device, where the former one cannot be kept.
    /// - Throws: `busy` when a program has the database open; otherwise what the disk refuses. The database is as it was then.
    public static func salvage(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, now: WallTime,
        random: inout some RandomNumberGenerator
    ) throws(StoreFailure) -> SalvageReport {
        let files = DatabaseFiles(path: configuration.file)
        try files.prepare(creatingIfMissing: false, forSalvage: true)
        try files.checkWritable()
        guard let lock = try FileLock(locking: files.openLock, within: configuration.limits.busyTimeout) else {
            throw StoreFailure(.busy, "another program is opening the database: \(files.openLock)")
        }
        defer { withExtendedLifetime(lock) {} }
        return try Salvage.run(
            configuration, catalog: catalog, newClient: ClientID.make(at: now, random: &random), now: now)
    }
}

import SQLiteDatabase
public import SyncCore
public import SyncModel
import SyncWire

extension SQLiteStore {
    /// Replaces a damaged database with a new one, and recovers the data that only this device has: its identity, its
    /// unconfirmed writes, and its journal.
    ///
    /// Records of the server are copied as far as they can be read. The next sync compares them with the server's, and
    /// downloads the rest. The damaged files stay next to the new ones under other names. No process may have the
    /// database open, including this one.
    ///
    /// - Parameters:
    ///   - now: the wall clock.
    ///   - random: the random source for a new client id, if the former identity cannot be kept.
    ///   - refusesOtherModels: whether to throw when an unconfirmed write changes a collection that `catalog` lacks.
    ///     Otherwise such a write counts as unreadable.
    /// - Throws: `busy` when a program has the database open; `otherSchema` if `refusesOtherModels` is true; otherwise
    ///   the error of the disk. The database is unchanged then, and opens as before, unless the error came while the
    ///   new files replaced the old ones. Then `open` throws `corrupt` until a salvage succeeds.
    public static func salvage(
        _ configuration: StoreConfiguration, catalog: SchemaCatalog, now: WallTime,
        random: inout some RandomNumberGenerator, refusesOtherModels: Bool = false
    ) throws(StoreError) -> SalvageReport {
        let newClient = ClientID.make(at: now, random: &random)
        return try StoreError.converting {
            let files = DatabaseFiles(path: configuration.file)
            try files.prepareForClient(creatingIfMissing: false, forSalvage: true)
            guard let lock = try FileLock.locking(files.openLock, within: configuration.limits.busyTimeout) else {
                throw StoreError(.busy, "another program is opening the database: \(files.openLock)")
            }
            defer { withExtendedLifetime(lock) {} }
            return try Salvage.run(
                configuration, catalog: catalog, refusesOtherModels: refusesOtherModels, newClient: newClient, now: now)
        }
    }

    /// Returns the models of a damaged database; nil when they cannot be read.
    ///
    /// If `sync_catalog` cannot be read, all pages of the database are searched for its models. Models that match
    /// neither `sync_field` nor the tables count as damaged.
    ///
    /// - Parameters:
    ///   - known: models to consider as well, which are taken only if `sync_field` describes exactly these.
    ///   - rule: returns the field rule of a name. If it returns nil, the field keeps the name of its rule, and nothing
    ///     is checked.
    /// - Throws: when the file itself cannot be read.
    public static func recoveredCatalog(
        of configuration: StoreConfiguration, known: [SchemaCatalog] = [], rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        if let stored = try? storedCatalog(of: configuration, rule: rule) { return stored }
        return try StoreError.converting {
            let walFile = DatabaseFiles(path: configuration.file + "-wal")
            let wal = walFile.identity() == nil ? [] : try walFile.bytes()
            // A damaged header may state another page size.
            let found = try [nil, usualPageSize].compactMap { size in
                try DatabaseImage(of: configuration.file, wal: wal, pageSize: size)
            }.flatMap { image in
                image.textsOfOnlyRows().compactMap { try? CatalogCodec.decodeStored(Array($0.utf8), rule: rule) }
            }
            // SQLite would delete the WAL beside an empty file, so an empty file is not opened.
            let isEmpty = (try? DatabaseFiles(path: configuration.file).isEmpty()) ?? true
            let connection = isEmpty ? nil : try? connectionForReading(configuration)
            // SQLite reports a malformed schema once, and then uses the part of it that it can read.
            try? connection?.execute("PRAGMA writable_schema = ON")
            _ = try? connection?.prepare("SELECT 1 FROM sqlite_schema")
            let described = connection.flatMap { try? StoredModels.described(in: $0) }
            let fitting = found.filter { catalog in
                guard let connection else { return true }
                let isDescribed = described.map { StoredModels.matches(catalog, described: $0) }
                return isDescribed == true || StoredModels.hasTables(of: catalog, in: connection)
                    || (isDescribed == nil && !has("sync_meta", connection))
            }
            // Models only grow, so the largest ones are the newest.
            return fitting.max { $0.fieldCount < $1.fieldCount }
                ?? known.first { catalog in described.map { StoredModels.matches(catalog, described: $0) } ?? false }
        }
    }

    /// Whether the schema can be read as far as a table.
    private static func has(_ table: String, _ connection: Connection) -> Bool {
        (try? connection.prepare("SELECT * FROM \(table) LIMIT 1")) != nil
    }

    /// SQLite's own default, which every database of this store has.
    private static let usualPageSize = 4_096
}

extension SchemaCatalog {
    fileprivate var fieldCount: Int { models.reduce(0) { $0 + 1 + $1.fields.count } }
}

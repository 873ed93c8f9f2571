import SQLiteDatabase
public import SyncCore
public import SyncModel
import SyncWire

/// The models that a database remembers: those of the application that opened the database last.
enum StoredCatalog {
    /// Returns the text to store.
    ///
    /// - Throws: `otherSchema`, with the field, for models that could not be read again.
    static func text(of tables: [RecordTable]) throws(StoreError) -> String {
        do throws(WireError) {
            return String(decoding: try CatalogCodec.encode(SchemaCatalog(tables.map(\.model))), as: UTF8.self)
        } catch {
            throw StoreError(.otherSchema, "the models cannot be stored: \(error)")
        }
    }

    /// Returns the stored text; nil when the database remembers no models.
    static func text(in connection: Connection) throws -> String? {
        let select = try connection.prepare("SELECT models FROM sync_catalog")
        defer { select.reset() }
        return try select.step() ? select.text(0) : nil
    }

    /// Decodes the models that a database remembers.
    ///
    /// - Throws: `newerSchema` when they have a format that only a newer build knows, and `corrupt` when they cannot be
    ///   read.
    static func decode(
        _ text: String, of file: String, rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog {
        let bytes = Array(text.utf8)
        do throws(WireError) {
            return try CatalogCodec.decodeStored(bytes, rule: rule)
        } catch {
            if CatalogCodec.isNewer(bytes) {
                throw StoreError(
                    .newerSchema,
                    "the stored models of \(file) have a format that this build does not know: use a newer build")
            }
            throw StoreError(.corrupt, "the stored models of \(file) cannot be read: \(error)")
        }
    }

    /// Stores a text, unless it is stored already. Must be called inside a transaction.
    static func store(_ text: String, in connection: Connection) throws {
        guard try self.text(in: connection) != text else { return }
        let statement = try connection.prepare("INSERT OR REPLACE INTO sync_catalog (one, models) VALUES (1, ?1)")
        statement.bind(1, text)
        try statement.run()
    }
}

extension SQLiteStore {
    /// Returns the models of the application that opened a database last, or that was creating it, for a program that
    /// serves any application.
    ///
    /// - Parameter rule: returns the field rule of a name. If it returns nil, the field keeps the name of its rule, and
    ///   nothing is checked.
    /// - Returns: nil when there is no database, or one that remembers no models.
    /// - Throws: when there is a database, and it cannot be read; `corrupt` when its models differ from its tables.
    public static func storedCatalog(
        of configuration: StoreConfiguration, rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        let files = DatabaseFiles(path: configuration.file)
        guard files.identity() != nil else { return nil }
        return try StoreError.converting {
            if let stored = try catalog(in: files, configuration, rule: rule) { return stored }
            // A process is creating the database, or was killed while it did. The database will have the models that
            // this process has chosen.
            if let text = try files.modelsBeingCreated() {
                return try StoredCatalog.decode(text, of: configuration.file, rule: rule)
            }
            // The process may have completed the database meanwhile.
            return try catalog(in: files, configuration, rule: rule)
        }
    }

    private static func catalog(
        in files: DatabaseFiles, _ configuration: StoreConfiguration, rule: (_ name: String) -> FieldRule?
    ) throws -> SchemaCatalog? {
        // SQLite deletes the WAL beside an empty file, and with it writes that exist nowhere else.
        guard try !files.isEmpty() else { return nil }
        return try connectionForReading(configuration).readSnapshot { connection in
            let known = try connection.integer(of: "SELECT count(*) FROM sqlite_schema WHERE name = 'sync_catalog'")
            guard known == 1 else { return nil }
            return try StoredModels.check(in: connection, of: configuration.file, rule: rule)
        }
    }

    /// Opens a connection that leaves the WAL in place when it closes, because the WAL may hold commits that are not
    /// durable yet.
    static func connectionForReading(_ configuration: StoreConfiguration) throws -> Connection {
        if configuration.vfs == nil {
            let files = DatabaseFiles(path: configuration.file)
            try files.checkCompanions()
            try files.checkWAL()
        }
        let connection = try Connection(
            opening: DatabaseURI.make(configuration.file, vfs: configuration.vfs),
            busyTimeout: configuration.limits.busyTimeout)
        connection.keepWALOnClose()
        return connection
    }
}

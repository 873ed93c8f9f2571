import SQLiteDatabase
public import SyncCore
public import SyncModel
import SyncWire

/// The models that a database remembers: those of the application that opened it last.
enum StoredCatalog {
    static func text(of tables: [RecordTable]) -> String {
        String(decoding: CatalogCodec.encode(SchemaCatalog(tables.map(\.model))), as: UTF8.self)
    }

    /// Nil when none are remembered.
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

    /// Runs inside a transaction. Writes nothing when the text is there already.
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
    /// - Parameter rule: returns the field rule of a name. A rule that is nil keeps its name, and checks nothing.
    /// - Returns: nil when there is no database, or one that remembers no models.
    /// - Throws: when there is a database, and it cannot be read; `corrupt` when its models differ from its tables.
    public static func storedCatalog(
        of configuration: StoreConfiguration, rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        let files = DatabaseFiles(path: configuration.file)
        guard files.identity() != nil else { return nil }
        return try StoreError.converting {
            if let stored = try catalog(in: files, configuration, rule: rule) { return stored }
            // A process was killed while it created the database. Nobody else may choose its models.
            if let text = try files.modelsBeingCreated() {
                return try StoredCatalog.decode(text, of: configuration.file, rule: rule)
            }
            // It may have completed meanwhile.
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

    /// Opens a connection that leaves the WAL for the process that knows what it contains.
    static func connectionForReading(_ configuration: StoreConfiguration) throws -> Connection {
        if configuration.vfs == nil { try DatabaseFiles(path: configuration.file).checkCompanions() }
        let connection = try Connection(
            opening: DatabaseURI.make(configuration.file, vfs: configuration.vfs),
            busyTimeout: configuration.limits.busyTimeout)
        connection.keepWALOnClose()
        return connection
    }
}

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

    /// Runs inside a transaction. Writes nothing when the text is there already.
    static func store(_ text: String, in connection: Connection) throws {
        guard try self.text(in: connection) != text else { return }
        let statement = try connection.prepare("INSERT OR REPLACE INTO sync_catalog (one, models) VALUES (1, ?1)")
        statement.bind(1, text)
        try statement.run()
    }
}

extension SQLiteStore {
    /// Returns the models of the application that opened a database last, for a program that serves any application.
    ///
    /// - Parameter rule: returns the field rule of a name. A rule that is nil keeps its name, and checks nothing.
    /// - Returns: nil when there is no database, or one that remembers no models.
    /// - Throws: when there is a database, and it cannot be read.
    public static func storedCatalog(
        of configuration: StoreConfiguration, rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        let files = DatabaseFiles(path: configuration.file)
        guard files.identity() != nil else { return nil }
        let text = try StoreError.converting { () -> String? in
            // SQLite deletes the WAL beside an empty file, and with it writes that exist nowhere else.
            guard try !files.isEmpty() else { return nil }
            let connection = try Connection(
                opening: DatabaseURI.make(configuration.file, vfs: configuration.vfs),
                busyTimeout: configuration.limits.busyTimeout)
            // This only reads, so the WAL stays for the process that knows what it contains.
            connection.keepWALOnClose()
            let known = try connection.integer(of: "SELECT count(*) FROM sqlite_schema WHERE name = 'sync_catalog'")
            return known == 1 ? try StoredCatalog.text(in: connection) : nil
        }
        guard let text else { return nil }
        do throws(WireError) {
            return try CatalogCodec.decodeStored(Array(text.utf8), rule: rule)
        } catch {
            throw StoreError(.corrupt, "the stored models of \(configuration.file) cannot be read: \(error)")
        }
    }
}

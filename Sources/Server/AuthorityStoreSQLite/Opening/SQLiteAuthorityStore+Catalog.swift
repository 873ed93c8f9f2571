import GRDB
public import SyncAuthority
public import SyncModel
import SyncWire

extension SQLiteAuthorityStore {
    /// Returns the models with which the records were written; nil for a database that remembers none.
    ///
    /// Field rules have their names alone, and check nothing.
    public func storedCatalog() throws(AuthorityStoreFailure) -> SchemaCatalog? {
        let text: String?
        do {
            text = try database.read { try String.fetchOne($0, sql: "SELECT models FROM catalog") }
        } catch {
            throw .wrapping(error, while: "read the stored models")
        }
        guard let text else { return nil }
        do throws(WireError) {
            return try CatalogCodec.decodeStored(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "the stored models cannot be read: \(error)")
        }
    }

    /// Remembers the models that are served from now on.
    public func remember(_ catalog: SchemaCatalog) throws(AuthorityStoreFailure) {
        let text = String(decoding: CatalogCodec.encode(catalog), as: UTF8.self)
        do {
            try database.write { database in
                try database.execute(
                    sql: """
                        INSERT INTO catalog (only, models) VALUES (1, ?1)
                        ON CONFLICT (only) DO UPDATE SET models = ?1 WHERE models <> ?1
                        """, arguments: [text])
            }
        } catch {
            throw .wrapping(error, while: "store the models")
        }
    }
}

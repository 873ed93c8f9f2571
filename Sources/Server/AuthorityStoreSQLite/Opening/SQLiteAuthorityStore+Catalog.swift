import AuthorityStoreSQL
import SQLiteDatabase
public import SyncAuthority
public import SyncModel
import SyncWire

extension SQLiteAuthorityStore: CatalogStore {
    public func storedCatalog() throws(AuthorityStoreError) -> SchemaCatalog? {
        let text = try AuthorityStoreError.converting("read the stored models") {
            try writer.inTurn {
                try writer.use { (connection) -> String? in
                    let select = try connection.statement("SELECT models FROM catalog")
                    defer { select.reset() }
                    return try select.step() ? select.text(0) : nil
                }
            }
        }
        guard let text else { return nil }
        do throws(WireError) {
            return try CatalogCodec.decodeStored(Array(text.utf8))
        } catch {
            throw AuthorityStoreError(.corrupt, "the stored models cannot be read: \(error)")
        }
    }

    public func remember(_ catalog: SchemaCatalog) throws(AuthorityStoreError) {
        let text: String
        do throws(WireError) {
            text = String(decoding: try CatalogCodec.encode(catalog), as: UTF8.self)
        } catch {
            throw AuthorityStoreError(.unstorable, "the models cannot be stored: \(error)")
        }
        try AuthorityStoreError.converting("store the models") {
            try writer.inTurn {
                try writer.use { connection in
                    try connection.write { connection in
                        let statement = try connection.statement(
                            """
                            INSERT INTO catalog (only, models) VALUES (1, ?1)
                            ON CONFLICT (only) DO UPDATE SET models = ?1 WHERE models <> ?1
                            """)
                        statement.bind(1, text)
                        try statement.run()
                        return .commit(())
                    }
                }
            }
        }
    }
}

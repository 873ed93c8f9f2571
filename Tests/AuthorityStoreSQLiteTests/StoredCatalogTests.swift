import AuthorityStoreSQLite
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@Suite struct StoredCatalogTests {
    @Test func `models that could not be read again are not stored`() throws {
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        let unreadable = SchemaCatalog([
            ModelSchema(collection: "todo", fields: [.text("title", bytes: 0...2_000_000)])
        ])
        let error = #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in try transaction.set(unreadable) }
        }
        #expect(error?.code == .unstorable)
        #expect(
            error?.message
                == "the models cannot be stored: todo.title has the length 0...2000000 bytes; expected a range within 0...1048576"
        )
        #expect(try store.read { view in try view.catalog() } == nil)
    }

    @Test func `models whose records may be too long for a page are not stored`() throws {
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
        let fields = (0..<9).map {
            FieldSchema.text(FieldName(rawValue: "f\($0)")!, bytes: 0...SchemaLimits.longestTextBytes)
        }
        let larger = SchemaCatalog([ModelSchema(collection: "todo", fields: fields)])
        let error = #expect(throws: AuthorityStoreError.self) {
            try store.write { transaction in try transaction.set(larger) }
        }
        #expect(error?.code == .unstorable)
        #expect(
            error?.message
                == "the models cannot be stored: the maximum lengths of the text and JSON fields of todo add up to 4713984 bytes; at most 4194304 are allowed"
        )
        #expect(try store.read { view in try view.catalog() } == nil)
    }
}

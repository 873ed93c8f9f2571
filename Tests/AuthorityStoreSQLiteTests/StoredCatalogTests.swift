import AuthorityStoreSQLite
import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@Suite struct StoredCatalogTests {
    private static func catalog(_ fields: [FieldSchema]) -> SchemaCatalog {
        SchemaCatalog([ModelSchema(collection: "todo", fields: fields)])
    }

    private func store() throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "e")))
    }

    @Test func `a new database remembers no models`() throws {
        #expect(try store().storedCatalog() == nil)
    }

    @Test func `the models that were remembered last are there, with the names of their rules`() throws {
        let store = try store()
        try store.remember(Self.catalog([.text("title")]))
        let rule = FieldRule(name: "short") { _ in "is long" }
        let catalog = Self.catalog([.text("title"), .text("note", rule: rule)])
        try store.remember(catalog)
        try store.remember(catalog)
        #expect(try store.storedCatalog() == catalog)
    }

    @Test func `models that could not be read again are not remembered`() throws {
        let store = try store()
        let error = #expect(throws: AuthorityStoreError.self) {
            try store.remember(Self.catalog([.text("title", bytes: 0...2_000_000)]))
        }
        #expect(error?.code == .unstorable)
        #expect(
            error?.message
                == "the models cannot be stored: todo.title has the length 0...2000000 bytes; expected a range within 0...1048576"
        )
        #expect(try store.storedCatalog() == nil)
    }
}

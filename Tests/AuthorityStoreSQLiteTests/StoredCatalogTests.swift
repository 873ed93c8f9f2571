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
}

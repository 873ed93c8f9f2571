import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

@Suite(.ring(.unit)) struct StoredCatalogTests {
    private static let rule = FieldRule(name: "short") { _ in "is long" }

    private static func catalog(_ more: [FieldSchema] = []) -> SchemaCatalog {
        SchemaCatalog([
            ModelSchema(
                collection: "todo", fields: [.text("title", required: true, bytes: 1...20, rule: rule)] + more,
                deleteRule: .editWins)
        ])
    }

    private func stored(_ scratch: Scratch) throws -> SchemaCatalog? {
        try SQLiteStore.storedCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil }
    }

    @Test func `a database remembers the models of the application that opened it last, with all limits and rules`()
        throws
    {
        let scratch = try Scratch()
        #expect(try stored(scratch) == nil)
        try scratch.open(Self.catalog()).close()
        #expect(try stored(scratch) == Self.catalog())
        let newer = Self.catalog([.integer("stars", merge: .serverWins)])
        try scratch.open(newer).close()
        #expect(try stored(scratch) == newer)
    }

    @Test func `a program that has only the stored models opens the database, and changes nothing of them`() throws {
        let scratch = try Scratch()
        try scratch.open(Self.catalog()).close()
        let catalog = try #require(try stored(scratch))
        #expect(catalog["todo"]?.fields[0].rule?.problem("x") == nil)
        try scratch.open(catalog).close()
        #expect(try stored(scratch) == Self.catalog())
    }

    @Test func `models of other limits are remembered as well`() throws {
        let scratch = try Scratch()
        try scratch.open(Self.catalog()).close()
        let other = SchemaCatalog([ModelSchema(collection: "todo", fields: [.text("title")])])
        try scratch.open(other).close()
        #expect(try stored(scratch) == other)
    }
}

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

    @Test(arguments: [false, true])
    func `opening with models that cannot be stored fails and changes no database`(isNew: Bool) throws {
        let scratch = try Scratch()
        if !isNew { try scratch.open(Self.catalog()).close() }
        let names = scratch.names
        for field in [
            FieldSchema.text("note", bytes: 0...2_000_000), .real("effort").bounded(by: .real(0...(.infinity))),
        ] {
            let error = #expect(throws: StoreError.self) { try scratch.open(Self.catalog([field])) }
            #expect(error?.code == .otherSchema)
            #expect(error?.message.contains("the models cannot be stored: todo.\(field.name) has the ") == true)
        }
        #expect(scratch.names.filter { !names.contains($0) && $0.hasSuffix(".creating") } == [])
        #expect(try stored(scratch) == (isNew ? nil : Self.catalog()))
    }

    @Test(arguments: [false, true])
    func `a database does not open with models whose records may be too long for a page`(isNew: Bool) throws {
        let scratch = try Scratch()
        if !isNew { try scratch.open(Self.catalog()).close() }
        let fields = (0..<9).map {
            FieldSchema.text(FieldName(rawValue: "f\($0)")!, bytes: 0...SchemaLimits.longestTextBytes)
        }
        let error = #expect(throws: StoreError.self) { try scratch.open(Self.catalog(fields)) }
        #expect(error?.code == .otherSchema)
        let words = "fields of todo add up to 4714004 bytes; at most 4194304 are allowed"
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(try stored(scratch) == (isNew ? nil : Self.catalog()))
    }

    /// The older store does not know the new field. It would store the field's values among the unknown ones, where no
    /// program looks for them.
    @Test(arguments: [2, nil] as [Int?])
    func `a store does not write after another program has added a field`(readers: Int?) throws {
        let scratch = try Scratch()
        func open(_ catalog: SchemaCatalog) throws -> SQLiteStore {
            try scratch.open(catalog) { $0.connections = readers.map { .pool(readers: $0) } ?? .single }
        }
        let older = try open(Samples.catalog)
        _ = try older.commit([Samples.create(1)], in: .default, now: Samples.now)
        // The older store still writes after a second client with the same models has opened the file, and after a
        // change of the SQLite schema that does not affect the models.
        try open(Samples.catalog).close()
        try RawDatabase(scratch.file).run("CREATE TABLE other (a); DROP TABLE other")
        _ = try older.commit([Samples.create(2)], in: .default, now: Samples.now)

        let more = ModelSchema(collection: "users", fields: Samples.users.fields + [.text("city")])
        let newer = try open(SchemaCatalog([more]))
        let edit = RecordEdit.update("users", Samples.id(1), ["username": .text("older")])
        let error = #expect(throws: StoreError.self) { _ = try older.commit([edit], in: .default, now: Samples.now) }
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains("has added collections or fields to \(scratch.file)") == true)
        #expect(try newer.record("users", .id(Samples.id(1)))?.values.first == .text("ada"))
        _ = try newer.commit(
            [.update("users", Samples.id(1), ["city": .text("London")])], in: .default, now: Samples.now)
        older.close()
        newer.close()
    }
}

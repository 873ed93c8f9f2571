import SyncModel
import Testing

@Suite struct CatalogChangeTests {
    private static func catalog(_ fields: [FieldSchema], _ more: [ModelSchema] = []) -> SchemaCatalog {
        SchemaCatalog([ModelSchema(collection: "todo", fields: fields)] + more)
    }

    private static let title = FieldSchema.text("title", required: true)
    private static let stored = catalog([title, .integer("stars"), .reference("next", to: "todo")])

    @Test func `a catalog fits itself`() {
        let change = CatalogChange(from: Self.stored, to: Self.stored)
        #expect(change.isCompatible && change.additions.isEmpty && change.adjustments.isEmpty)
    }

    @Test func `new collections and new optional fields apply by themselves, in any order`() {
        let new = Self.catalog(
            [.boolean("done"), Self.title, .integer("stars"), .reference("next", to: "todo")],
            [ModelSchema(collection: "person", fields: [.text("name", required: true)])])
        let change = CatalogChange(from: Self.stored, to: new)
        #expect(change.isCompatible)
        #expect(change.additions == ["person", "todo.done"])
    }

    @Test func `other limits, rules, and merge rules apply to new writes`() {
        let rule = FieldRule(name: "short") { _ in nil }
        let new = SchemaCatalog([
            ModelSchema(
                collection: "todo",
                fields: [
                    .text("title", bytes: 1...20, rule: rule), .integer("stars", merge: .serverWins),
                    .reference("next", to: "todo"),
                ], deleteRule: .editWins)
        ])
        let change = CatalogChange(from: Self.stored, to: new)
        #expect(change.isCompatible)
        #expect(
            change.adjustments == [
                "todo: deletes follow editWins", "todo.title is optional", "todo.title has 1 to 20 bytes",
                "todo.title has the rule short", "todo.stars merges by serverWins",
            ])
    }

    @Test(arguments: [
        (SchemaCatalog([]), "todo is stored, but is not in the catalog"),
        (catalog([title, .integer("stars")]), "todo.next is stored, but is not in the catalog"),
        (
            catalog([title, .text("stars"), .reference("next", to: "todo")]),
            "todo.stars is stored as integer, but is text in the catalog"
        ),
        (
            catalog(
                [title, .integer("stars"), .reference("next", to: "person")],
                [ModelSchema(collection: "person", fields: [])]),
            "todo.next is stored as a reference to todo, and refers to person in the catalog"
        ),
        (
            catalog([title, .integer("stars"), .reference("next", to: "todo"), .text("note", required: true)]),
            "todo.note is new and required, but stored records have no value for it"
        ),
        (
            catalog([title, .integer("stars", required: true), .reference("next", to: "todo")]),
            "todo.stars is stored as optional, but is required in the catalog"
        ),
    ])
    func `each incompatible change is reported with the name of its field and a remedy`(
        new: SchemaCatalog, problem: String
    ) {
        let change = CatalogChange(from: Self.stored, to: new)
        #expect(!change.isCompatible)
        #expect(change.conflicts.map(\.problem) == [problem])
        #expect(change.conflicts.allSatisfy { !$0.remedy.isEmpty })
    }
}

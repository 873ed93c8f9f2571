import Foundation
import SyncModel
import Testing
import TomboloModeling

/// Tests that a declaration produces its schema, and that each error in it is thrown with the name of the faulty part.
@Suite struct DeclarationTests {
    @Test func `a model gives the schema of its collection`() throws {
        let catalog = try ModelCatalog([Todo.self, Person.self])
        #expect(catalog.schemas.models.map(\.collection) == ["todo", "person"])
        let schema = try #require(catalog.schemas["todo"])
        let expected: [FieldSchema] = [
            .text("title", required: true, bytes: 1...200).indexed(),
            .boolean("is_done").defaulting(to: .boolean(false)),
            .text("priority").defaulting(to: .text("normal")),
            .integer("due").indexed().holdingDates(),
            .integer("stars").bounded(by: .integer(0...5)).defaulting(to: .integer(0)),
            .real("effort", merge: .serverWins).bounded(by: .real(0...100)),
            .text("token"),
            .json("steps").defaulting(to: .json("[]")),
            .reference("owner", to: "person").indexed(),
            .reference("author", to: "person", required: true),
        ]
        #expect(schema.fields == expected)
    }

    @Test func `fields know their places in the order of the declaration`() throws {
        let shape = try ModelShape<Todo>.todo()
        #expect(shape.fields.title.key.slot == 0)
        #expect(shape.fields.author.key.slot == 9)
    }

    @Test func `models are registered in any order, side by side, and more than once`() async throws {
        try await withThrowingTaskGroup(of: [FieldSchema].self) { group in
            for _ in 0..<20 { group.addTask { try ModelShape(Todo.self).schema.fields } }
            let wanted = try ModelShape(Todo.self).schema.fields
            for try await fields in group { #expect(fields == wanted) }
        }
        #expect(throws: Never.self) { try ModelCatalog([Person.self, Todo.self, Person.self]) }
    }

    private struct Mistake: Sendable, CustomTestStringConvertible {
        let models: [any Model.Type]
        let code: ModelDeclarationError.Code
        let message: String

        var testDescription: String { code.rawValue }
    }

    private static let mistakes = [
        Mistake(
            models: [CamelCase.self], code: .invalidName,
            message:
                "'isDone' is not a valid name for a field of camel: expected a lower-case letter, then up to 62 lower-case letters, digits, or underscores; write 'is_done'"
        ),
        Mistake(
            models: [BadCollection.self], code: .invalidName,
            message:
                "'My Todos' is not a valid name for the collection of BadCollection: expected a lower-case letter, then up to 62 lower-case letters, digits, or underscores; write 'my_todos'"
        ),
        Mistake(
            models: [Reserved.self], code: .reservedName,
            message: "reserved.version: the database uses this name itself; choose another, such as 'reserved_version'"),
        Mistake(
            models: [Member.self], code: .reservedName,
            message:
                "member.description: every live object has a member of this name; choose another, such as 'member_description'"
        ),
        Mistake(
            models: [MethodName.self], code: .reservedName,
            message:
                "flight.arrival: every live object has a member of this name; choose another, such as 'flight_arrival'"
        ),
        Mistake(
            models: [CamelCaseMember.self], code: .reservedName,
            message:
                "coupon.is_valid: every live object has a member of this name; choose another, such as 'coupon_is_valid'"
        ),
        Mistake(
            models: [TwoRules.self], code: .invalidLimit,
            message: "two_rules.name has two rules; expected one, which checks everything"),
        Mistake(
            models: [Twice.self], code: .duplicateField,
            message: "twice declares the field name twice; give each field its own name"),
        Mistake(
            models: [Person.self, OtherPerson.self], code: .duplicateCollection,
            message: "Person and OtherPerson both have the collection 'person'; give each model its own"),
        Mistake(
            models: [Todo.self], code: .unknownTarget,
            message: "todo.owner refers to Person, which is not in the list of models; add Person.self to it"),
        Mistake(
            models: [TooLong.self], code: .invalidLimit,
            message: "too_long.text has the length 0...100000 bytes; expected a range within 0...65536"),
        Mistake(
            models: [Unbounded.self], code: .invalidLimit,
            message: "unbounded.size has the range 0.0 to inf; expected finite numbers"),
        Mistake(
            models: [BadDefault.self], code: .invalidDefault,
            message:
                "the default breaks the field's own limits: bad_default.stars is 9; expected 1 to 5. Give the field a default that meets them, make it required, or make its type optional"
        ),
        Mistake(
            models: [Infinite.self], code: .invalidDefault,
            message: "the default of infinite.size cannot be stored: inf is not a finite number"),
    ]

    @Test(arguments: mistakes)
    private func `an error in a declaration is thrown by name`(mistake: Mistake) {
        let error = #expect(throws: ModelDeclarationError.self) { try ModelCatalog(mistake.models) }
        #expect(error?.code == mistake.code)
        #expect(error?.message == mistake.message)
    }

    @Test func `a computed or static field is an error when it is used`() throws {
        let shape = try ModelShape(Computed.self)
        #expect(shape.schema.fields.map(\.name) == ["title"])
        let condition = shape.fields.note == "x"
        #expect(condition.problem?.code == .computedField)
        #expect(
            condition.problem?.message
                == "computed.note was not created by the initializer of its model; a field must be a stored property, written `let note = Field<…>(\"note\")`, and not a computed or static one"
        )
        #expect((shape.fields.title == "x").problem == nil)
        #expect((Computed.shared == "x" && shape.fields.title == "x").problem?.field == "shared")
    }

    @Test func `a model that is not in the list is an error that names the list`() throws {
        let catalog = try ModelCatalog([Person.self])
        let error = #expect(throws: ModelDeclarationError.self) { try catalog.shape(of: Todo.self) }
        #expect(
            error?.message
                == "Todo (collection 'todo') is not in the list of models; add Todo.self to it. The list has: person")
    }
}

private struct CamelCase: Model {
    static let collection = "camel"
    let isDone = Field<Bool>("isDone")
}

private struct BadCollection: Model {
    static let collection = "My Todos"
}

private struct Reserved: Model {
    static let collection = "reserved"
    let revision = Field<Int>("version")
}

private struct Member: Model {
    static let collection = "member"
    let text = Field<String>("description")
}

private struct MethodName: Model {
    static let collection = "flight"
    let arrival = Field<Date?>("arrival")
}

private struct CamelCaseMember: Model {
    static let collection = "coupon"
    let isValid = Field<Bool>("is_valid")
}

private struct TwoRules: Model {
    static let collection = "two_rules"
    let name = Field<String>("name", .rule(.name), .rule(.url(schemes: ["https"])))
}

private struct Twice: Model {
    static let collection = "twice"
    let first = Field<String>("name")
    let last = Field<String>("name")
}

private struct OtherPerson: Model {
    static let collection = "person"
    let name = Field<String>("name")
}

private struct TooLong: Model {
    static let collection = "too_long"
    let text = Field<String>("text", .length(0...100_000))
}

private struct Unbounded: Model {
    static let collection = "unbounded"
    let size = Field<Double>("size", .range(0...(.infinity)))
}

private struct BadDefault: Model {
    static let collection = "bad_default"
    let stars = Field<Int>("stars", .range(1...5), default: 9)
}

private struct Infinite: Model {
    static let collection = "infinite"
    let size = Field<Double>("size", default: .infinity)
}

private struct Computed: Model {
    static let collection = "computed"
    static let shared = Field<String>("shared")
    let title = Field<String>("title")
    var note: Field<String> { Field("note") }
}

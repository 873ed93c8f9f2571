import Foundation
import SyncModel
import TestRings
import Testing
import TomboloModeling

/// Tests that conditions can be printed, and that they match records in memory.
@Suite struct ConditionTests {
    private let shape: ModelShape<Todo>
    private let noon = Date(timeIntervalSince1970: 43_200)

    init() throws {
        shape = try .todo()
    }

    private func matches(_ patch: Patch, _ condition: (Todo) -> ModelCondition<Todo>) -> Bool {
        let record = Record(
            id: RecordID(bits: Identifier128(high: 1, low: 2)), uid: .none, version: .zero,
            values: shape.schema.fields.map { patch[$0.name] ?? .null })
        let filter = condition(shape.fields).filter
        #expect(filter.problem(in: shape.schema) == nil)
        return filter.matches(record, schema: shape.schema)
    }

    @Test func `a condition prints as it is read`() {
        let todo = shape.fields
        let condition = !todo.isDone && (todo.due < noon || todo.priority == .high) && todo.title.hasPrefix("M")
        #expect(
            "\(condition)"
                == "((is_done == false || is_done == nil) && (due < 43200000000 || priority == 'high') && title begins with 'M')"
        )
    }

    @Test func `comparisons match values, and a missing value only where it reads as one`() {
        #expect(matches(["title": .text("Milk")]) { $0.title == "Milk" })
        #expect(matches(["title": .text("Milk")]) { $0.title < "Milo" && $0.title >= "Milk" && $0.title != "milk" })
        #expect(matches(["due": .integer(1)]) { $0.due < noon && !($0.due > noon) && $0.due != nil })
        #expect(!matches([:]) { $0.due < noon || $0.due >= noon })
        #expect(matches([:]) { !($0.due < noon) && $0.due == nil && $0.due.isNil && $0.due != noon })
        // A record of an older build shows the defaults.
        #expect(
            matches([:]) { !$0.isDone && $0.priority == .normal && $0.stars < 1 && $0.priority.in([.low, .normal]) })
        #expect(!matches([:]) { $0.isDone == true || $0.priority != .normal || $0.stars > 0 })
        #expect(matches(["is_done": .boolean(true)]) { $0.isDone == true && $0.isDone != false })
    }

    @Test func `lists, prefixes, and parts of texts match`() {
        #expect(matches(["priority": .text("high")]) { $0.priority.in([.low, .high]) })
        #expect(!matches(["priority": .text("high")]) { $0.priority.in([]) })
        #expect(matches(["title": .text("Über")]) { $0.title.hasPrefix("Ü") && $0.title.contains("be") })
        #expect(!matches(["title": .text("Über")]) { $0.title.hasPrefix("U") || $0.title.contains("bee") })
        #expect(matches(["title": .text("Über")]) { $0.title.hasPrefix("") && $0.title.contains("") })
    }

    private struct Note: Model {
        static let collection = "note"
        let kind = Field<String>("kind", default: "memo")
        let text = Field<String>("text")
        let author = Field<String?>("author", default: "Ned")
    }

    @Test func `a prefix or part of the default matches a record without a value`() throws {
        let shape = try ModelShape(Note.self)
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        let old = Record(id: id, uid: .none, version: .zero, values: [.null, .null, .null])
        func matches(_ condition: (Note) -> ModelCondition<Note>) -> Bool {
            condition(shape.fields).filter.matches(old, schema: shape.schema)
        }
        #expect(matches { $0.kind.hasPrefix("me") && $0.kind.contains("em") && $0.text.contains("") })
        #expect(!matches { $0.kind.hasPrefix("em") || $0.kind.contains("x") || $0.text.hasPrefix("m") })
        #expect(matches { !$0.kind.contains("x") && !$0.author.hasPrefix("N") && !$0.author.contains("") })
    }

    private struct Guest: Model {
        static let collection = "guest"
        let name = Field<String?>("name", .rule(.name))
        let plain = Field<String?>("plain")
    }

    /// Regression test: `==` found a name in decomposed form, and a prefix or a part of it did not.
    @Test func `the rule of a field normalizes prefixes and parts, as it does values`() throws {
        let shape = try ModelShape(Guest.self)
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        let guest = Record(
            id: id, uid: .none, version: .zero, values: [.text("\u{E9}mile"), .text("\u{E9}mile")])
        func matches(_ condition: (Guest) -> ModelCondition<Guest>) -> Bool {
            condition(shape.fields).filter.matches(guest, schema: shape.schema)
        }
        #expect(matches { $0.name == "e\u{301}mile" && $0.name.hasPrefix("e\u{301}m") })
        #expect(matches { $0.name.contains("e\u{301}") && $0.name.hasPrefix("") })
        #expect(!matches { $0.plain.hasPrefix("e\u{301}") || $0.plain.contains("e\u{301}") })
    }

    private struct Device: Model {
        static let collection = "device"
        let key = Field<UUID>("key", default: UUID.empty)
        let owner = Field<UUID?>("owner")
    }

    /// Regression test: a condition did not find a UUID that an import had stored in upper case.
    @Test func `a UUID is found in lower and in upper case`() throws {
        let shape = try ModelShape(Device.self)
        let text = "a0000000-0000-4000-8000-00000000000b"
        let key = try #require(UUID(uuidString: text))
        func matches(_ values: [FieldValue], _ condition: (Device) -> ModelCondition<Device>) -> Bool {
            let id = RecordID(bits: Identifier128(high: 1, low: 2))
            let record = Record(id: id, uid: .none, version: .zero, values: values)
            return condition(shape.fields).filter.matches(record, schema: shape.schema)
        }
        for form in [text, text.uppercased()] {
            let values: [FieldValue] = [.text(form), .text(form)]
            #expect(matches(values) { $0.key == key && $0.owner == key && $0.owner.in([UUID(), key]) })
            #expect(!matches(values) { $0.key != key || $0.owner != key || $0.key == UUID.empty || $0.owner.isNil })
        }
        #expect(matches([.null, .null]) { $0.key == UUID.empty && $0.owner != key && $0.key != key })
        #expect(!matches([.null, .null]) { $0.key != UUID.empty || $0.owner == key })
    }

    @Test func `a value that cannot be stored is an error of the value`() {
        #expect((shape.fields.effort < .infinity).problem?.code == .invalidValue)
        #expect(shape.fields.effort.in([1, .nan]).problem?.code == .invalidValue)
    }

    @Test func `references compare with ids and snapshots`() {
        let id = RecordID(bits: Identifier128(high: 1, low: 9))
        #expect(matches(["owner": .reference(id)]) { $0.owner == id && !$0.owner.isNil && $0.owner.in([id]) })
        #expect(matches([:]) { $0.owner != id && $0.owner.isNil && $0.owner == nil })
    }

    @Test func `a long condition of mixed types compiles quickly`() {
        let todo = shape.fields
        let condition =
            !todo.isDone && (todo.due < noon || todo.priority == .high) && todo.title != "Milk" && todo.stars >= 2
            && (todo.effort < 3.5 || todo.effort.isNil) && todo.title.hasPrefix("B") && !(todo.priority == .low)
            && (todo.owner == nil || todo.stars < 5) && todo.due != nil
        guard case .all(let parts) = condition.filter else {
            Issue.record("\(condition)")
            return
        }
        #expect(parts.count == 9)
    }

    @Test func `orders sort by several keys, in either direction, with missing values first`() {
        func record(_ number: UInt64, _ patch: Patch) -> Record {
            Record(
                id: RecordID(bits: Identifier128(high: 0, low: number)), uid: .none, version: .zero,
                values: shape.schema.fields.map { patch[$0.name] ?? .null })
        }
        let records = [
            record(1, ["due": .integer(5), "title": .text("a")]), record(2, ["due": .integer(5), "title": .text("b")]),
            record(3, ["title": .text("c")]), record(4, ["due": .integer(9), "title": .text("d")]),
        ]
        let orders = [shape.fields.due.ascending, shape.fields.title.descending].map(\.order)
        let sorted = records.sorted { orders.precedes($0, $1, schema: shape.schema) }
        #expect(sorted.map(\.id.bits.low) == [3, 2, 1, 4])
        for (position, record) in sorted.enumerated() {
            let cursor = RecordCursor(of: record, orders: orders, schema: shape.schema)
            let filter = cursor.filter(orders: orders)
            let rest = sorted.filter { filter?.matches($0, schema: shape.schema) ?? false }
            #expect(rest == Array(sorted[(position + 1)...]), "after \(position)")
        }
    }

    /// Regression test: a record of an older build came first in every order, although it reads as the default.
    @Test func `orders sort a record without a value by the default of its field`() {
        func record(_ number: UInt64, _ stars: Int64?) -> Record {
            let patch: Patch = stars.map { ["stars": .integer($0)] } ?? [:]
            return Record(
                id: RecordID(bits: Identifier128(high: 0, low: number)), uid: .none, version: .zero,
                values: shape.schema.fields.map { patch[$0.name] ?? .null })
        }
        let fallback = shape.fields.stars.fallback
        let records = [
            record(1, Int64(fallback) - 1), record(2, nil), record(3, Int64(fallback)), record(4, nil),
            record(5, Int64(fallback) + 1),
        ]
        for (order, expected) in [
            (shape.fields.stars.ascending, [1, 2, 3, 4, 5]), (shape.fields.stars.descending, [5, 2, 3, 4, 1]),
        ] as [(ModelOrder<Todo>, [UInt64])] {
            let orders = [order.order]
            let sorted = records.sorted { orders.precedes($0, $1, schema: shape.schema) }
            #expect(sorted.map(\.id.bits.low) == expected)
            for (position, record) in sorted.enumerated() {
                let filter = RecordCursor(of: record, orders: orders, schema: shape.schema).filter(orders: orders)
                let rest = sorted.filter { filter?.matches($0, schema: shape.schema) ?? false }
                #expect(rest == Array(sorted[(position + 1)...]), "after \(position)")
            }
        }
    }

    @Test func `a filter with an unknown field, a value of another type, or too many parts is an error`() {
        #expect(
            RecordFilter("colour", equals: .null).problem(in: shape.schema) == "todo.colour: there is no such field")
        #expect(
            RecordFilter("stars", equals: .text("5")).problem(in: shape.schema)
                == "todo.stars holds integer, and was compared with text")
        let many = RecordFilter.any((0..<500).map { RecordFilter("stars", equals: .integer($0)) })
        #expect(many.problem(in: shape.schema)?.contains("at most 400") == true)
    }

    @Test(.ring(.test)) func `conditions beyond a limit are an error that names it, however deep they are`() {
        let stars = shape.fields.stars
        func nested(_ count: Int) -> ModelCondition<Todo> {
            (1..<count).reduce(stars == 0) { nested, number in
                number.isMultiple(of: 2) ? (stars == number) || nested : (stars != number) && nested
            }
        }
        #expect(nested(49).problem == nil)
        #expect(nested(49).filter.problem(in: shape.schema) == nil)
        for count in [60, 400, 10_000] {
            #expect(nested(count).problem?.message.contains("at most 50 are allowed") == true, "\(count)")
            #expect(nested(count).problem?.code == .invalidValue)
        }
        let flat = (1...10_000).reduce(stars == 0) { $0 || stars == $1 }
        #expect(flat.problem?.message.contains("at most 400") == true)
        let negations = (0..<1_000).reduce(RecordFilter("stars", equals: .integer(0))) { inner, _ in .not(inner) }
        #expect(negations.problem(in: shape.schema)?.contains("1000 levels deep") == true)
    }
}

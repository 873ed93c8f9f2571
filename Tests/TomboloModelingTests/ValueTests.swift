import Foundation
import SyncModel
import Testing
import TomboloModeling

/// Tests how the values of fields are stored, and what a field returns if its value is missing or unknown.
@Suite struct ModelValueTests {
    @Test func `every type of value comes back as it was`() throws {
        func trip<Value: ModelValue>(_ value: Value, _ stored: FieldValue) {
            #expect(value.stored == stored)
            #expect(Value(stored: stored) == value)
        }
        trip("Milk", .text("Milk"))
        trip(-7, .integer(-7))
        trip(0.25, .real(0.25))
        trip(true, .boolean(true))
        trip(Date(timeIntervalSince1970: 1_700_000_000.5), .integer(1_700_000_000_500_000))
        trip(Date(timeIntervalSince1970: -0.000_001), .integer(-1))
        trip(
            try #require(UUID(uuidString: "0190B5A4-0000-7000-8000-00000000002A")),
            .text("0190b5a4-0000-7000-8000-00000000002a"))
        trip(Priority.high, .text("high"))
        trip(JSON([Step(title: "boil", minutes: 1.5)]), .json(#"[{"minutes":1.5,"title":"boil"}]"#))
        trip(Int?.none, .null)
        trip(Priority?.some(.low), .text("low"))
    }

    /// Regression test: dates went through seconds since 1970, and many after 2106 came back as another microsecond.
    @Test func `every microsecond from 1729 to 2273 comes back as it was`() {
        let perYear: Int64 = 31_556_952_000_000
        for year in 1729..<2273 as Range<Int64> {
            for number in 0..<50 as Range<Int64> {
                let microseconds = (year - 1970) * perYear + (number * 631_139_040_007) % perYear
                #expect(Date(stored: .integer(microseconds))?.stored == .integer(microseconds))
            }
        }
        for microseconds: Int64 in [4_295_745_353_768_703, 8_835_984_000_000_001] {
            #expect(Date(stored: .integer(microseconds))?.stored == .integer(microseconds))
        }
    }

    @Test func `whole seconds of any year come back as they were, and the first date is not beyond the range`() {
        for year in stride(from: Int64(-200_000), through: 200_000, by: 1_017) {
            let microseconds = year * 31_556_952_000_000
            #expect(Date(stored: .integer(microseconds))?.stored == .integer(microseconds), "\(year)")
        }
        #expect(Date(stored: .integer(.min)) != nil && Date(stored: .integer(.max)) != nil)
    }

    @Test func `a record without a value shows the default, or the empty value of the type`() throws {
        let todo = try ModelShape<Todo>.todo().snapshot([:])
        #expect(todo.title == "")
        #expect(!todo.isDone)
        #expect(todo.priority == .normal)
        #expect(todo.due == nil)
        #expect(todo.stars == 0)
        #expect(todo.steps.value == [])
        #expect(todo.owner == nil)
    }

    private struct Task: Model {
        static let collection = "task"
        let due = Field<Date?>("due", default: Date(timeIntervalSince1970: 0))
        let stars = Field<Int>("stars", default: 3)
    }

    @Test func `an optional field without a value shows nil, although new records have a default`() throws {
        let shape = try ModelShape(Task.self)
        #expect(shape.schema.withDefaults(Patch()) == ["due": .integer(0), "stars": .integer(3)])
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        for values in [[FieldValue.null, .null], []] {
            let task = Snapshot(id: id, uid: 3, values: values, shape: shape)
            #expect(task.due == nil && task.stars == 3)
        }
    }

    private struct Letter: Model {
        static let collection = "letter"
        static let lower = FieldRule(name: "lower", normalized: { $0.lowercased() }, problem: { _ in nil })
        let from = Field<String>("from", .rule(lower), default: "NONE")
        let to = Field<String?>("to", .rule(lower), default: "ALL")
    }

    /// Regression test: a record of an older build showed "NONE", a new record "none", and no condition found the
    /// former.
    @Test func `the rule of a field normalizes its default, in new records and in those of older builds`() throws {
        let shape = try ModelShape(Letter.self)
        #expect(shape.schema.withDefaults(Patch()) == ["from": .text("none"), "to": .text("all")])
        let old = Record(
            id: RecordID(bits: Identifier128(high: 1, low: 2)), uid: .none, version: .zero, values: [.null, .null])
        let letter = Snapshot(id: old.id, uid: -1, values: old.values, shape: shape)
        #expect(letter.from == "none" && letter.to == nil)
        #expect((shape.fields.from == "NONE").filter.matches(old, schema: shape.schema))
        #expect((shape.fields.from != "other").filter.matches(old, schema: shape.schema))
        #expect((shape.fields.from > "a").filter.matches(old, schema: shape.schema))
    }

    @Test func `an unknown raw value of a newer build reads as the fallback`() throws {
        let todo = try ModelShape<Todo>.todo().snapshot(["priority": .text("urgent")])
        #expect(todo.priority == .normal)
        #expect(todo.values[2] == .text("urgent"))
    }

    @Test func `JSON that this build cannot decode keeps its text`() throws {
        let todo = try ModelShape<Todo>.todo().snapshot(["steps": .json(#"{"new":true}"#)])
        #expect(todo.steps.value == nil)
        #expect(todo.steps.text == #"{"new":true}"#)
        #expect(todo.steps.stored == .json(#"{"new":true}"#))
    }

    @Test func `a value that cannot be stored says why`() {
        #expect(Double.nan.stored == nil)
        #expect(Double.nan.storageProblem == "nan is not a finite number")
        #expect(Date.distantFuture.stored != nil)
        #expect(Date(timeIntervalSince1970: 1e300).stored == nil)
        let bad = JSON([Step(title: "never", minutes: .infinity)])
        #expect(bad.stored == nil)
        #expect(bad.storageProblem?.hasPrefix("the value cannot be encoded as JSON") == true)
    }

    @Test func `numbers outside of their range are refused by name`() throws {
        let schema = try ModelShape<Todo>.todo().schema
        let error = #expect(throws: InvalidValueError.self) { try schema.check(updating: ["stars": .integer(6)]) }
        #expect(error?.description == "todo.stars is 6; expected 0 to 5")
        #expect(throws: InvalidValueError.self) { try schema.check(updating: ["effort": .real(100.5)]) }
        #expect(throws: Never.self) { try schema.check(updating: ["stars": .integer(5), "effort": .real(0)]) }
    }

    @Test func `a snapshot is a value that can be compared and coded`() throws {
        let shape = try ModelShape<Todo>.todo()
        let owner = RecordID(bits: Identifier128(high: 5, low: 6))
        let todo = shape.snapshot([
            "title": .text("Milk"), "is_done": .boolean(true), "due": .integer(1_500_000), "effort": .real(1.5),
            "owner": .reference(owner), "steps": .json("[]"),
        ])
        #expect(todo.owner == owner)
        #expect(todo.due == Date(timeIntervalSince1970: 1.5))
        let data = try JSONEncoder().encode(todo)
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains(#""title":"Milk""#) && !text.contains("token"))
        let again = try JSONDecoder().decode(Snapshot<Todo>.self, from: data)
        #expect(again == todo)
        #expect(again != shape.snapshot(["title": .text("Bread")]))
        let bad = Data(text.replacing("\(todo.id)", with: "nobody").utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Snapshot<Todo>.self, from: bad) }
    }
}

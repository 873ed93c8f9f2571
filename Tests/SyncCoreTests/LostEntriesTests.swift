import SyncCore
import SyncModel
import Testing

/// The selection of lost changes that are restored together.
@Suite struct LostEntriesTests {
    private static func record(_ number: UInt64) -> RecordAddress {
        RecordAddress("users", RecordID(bits: Identifier128(high: 7, low: number)))
    }

    /// - Parameter value: nil empties the field.
    private static func change(
        _ number: UInt64, _ field: FieldName, _ value: String?, over before: String? = nil
    ) -> Mutation {
        let edit = FieldEdit(
            field: field, value: value.map { .text($0) } ?? .null, before: before.map { .text($0) } ?? .null,
            seen: .zero)
        return Mutation(collection: "users", record: record(number).id, time: .zero, intent: .update([edit]))
    }

    private static func creation(_ number: UInt64, _ name: String) -> Mutation {
        Mutation(
            collection: "users", record: record(number).id, time: .zero, intent: .create(["name": .text(name)]))
    }

    /// Returns the selection from entries with the numbers 1, 2, and so on. The entries are added newest first, as the
    /// journal lists them.
    ///
    /// - Parameter obstacles: what keeps changes of each entry in the journal, by its number.
    private static func selection(
        _ entries: [Mutation]..., obstacles: [Int64: [LostChange: LostEntries.Obstacle]] = [:],
        replacements: [RecordAddress: RecordID] = [:]
    ) -> [LostEntries.Selection] {
        var lost = LostEntries()
        for (index, mutations) in entries.enumerated().reversed() {
            let number = Int64(index + 1)
            lost.add(
                number, Transaction(space: .default, mutations: mutations), obstacles: obstacles[number] ?? [:],
                replacements: replacements)
        }
        return lost.selection()
    }

    @Test func `of two values of one field, only the newest is restored, and other fields of both entries are`() {
        let selection = Self.selection(
            [Self.change(1, "name", "first"), Self.change(2, "name", "x")], [Self.change(1, "name", "second")],
            [Self.change(1, "bio", "text")], [Self.change(3, "name", "third")])
        #expect(selection.map(\.entry) == [1, 2, 3, 4])
        #expect(selection[0].left == [LostChange(Self.record(1), "name"): .otherEntry(2)] && !selection[0].isLeft)
        #expect(selection.map(\.left.isEmpty) == [false, true, true, true])
    }

    @Test func `an edit of a deleted record does not replace the value of the record that has replaced it`() {
        let selection = Self.selection(
            [Self.change(1, "name", "older", over: "backup"), Self.change(1, "bio", "text")],
            [Self.creation(2, "newer")], replacements: [Self.record(1): Self.record(2).id])
        #expect(selection.map(\.entry) == [2, 1])
        #expect(selection.map(\.left) == [[:], [LostChange(Self.record(1), "name"): .otherEntry(2)]])
    }

    @Test func `equal values of one field are restored together`() {
        let selection = Self.selection([Self.change(1, "name", "same")], [Self.change(1, "name", "same")])
        #expect(selection.map(\.entry) == [1, 2] && selection.map(\.left.isEmpty) == [true, true])
    }

    @Test func `a creation is restored first, and a later value of its field is left`() {
        let selection = Self.selection(
            [Self.change(1, "bio", "text")], [Self.creation(1, "first")], [Self.change(1, "name", "second")])
        #expect(selection.map(\.entry) == [2, 1, 3])
        #expect(selection.map(\.isLeft) == [false, false, true])
        #expect(selection[2].left == [LostChange(Self.record(1), "name"): .otherEntry(2)])
    }

    @Test func `an older entry that creates another record does not take the place of a newer value`() {
        let selection = Self.selection(
            [Self.creation(1, "first"), Self.change(2, "name", "older", over: "backup")],
            [Self.change(2, "name", "newer", over: "backup")])
        #expect(selection.map(\.entry) == [1, 2])
        #expect(selection.map(\.left) == [[LostChange(Self.record(2), "name"): .otherEntry(2)], [:]])
    }

    @Test func `a change of a field that was changed since is left, and does not take the place of another`() {
        let place = LostChange(Self.record(1), "name")
        let selection = Self.selection(
            [Self.change(1, "name", "first")], [Self.change(1, "name", "second"), Self.change(2, "name", "x")],
            obstacles: [2: [place: .outdated]])
        #expect(selection[0].left.isEmpty)
        #expect(selection[1].left == [place: .outdated] && !selection[1].isLeft)
    }

    @Test func `a creation whose record has been changed is left as a whole`() {
        let creation = LostChange(Self.record(1))
        let selection = Self.selection(
            [Self.creation(1, "first"), Self.change(2, "name", "x")], obstacles: [1: [creation: .outdated]])
        #expect(selection.map(\.left) == [[creation: .outdated]] && !selection[0].isLeft)
    }

    @Test func `a creation whose record is here without some of its values is restored in part`() {
        let name = LostChange(Self.record(1), "name")
        let creation = Mutation(
            collection: "users", record: Self.record(1).id, time: .zero,
            intent: .create(["name": .text("first"), "bio": .text("text")]))
        let selection = Self.selection([creation], obstacles: [1: [name: .outdated]])
        #expect(selection[0].left == [name: .outdated] && !selection[0].isLeft)
    }

    /// A server was put back to a newer backup, and then to an older one: the field now has a third value.
    @Test func `a value that replaced the one that was lost afterward is restored instead of it`() {
        let place = LostChange(Self.record(1), "name")
        let older = [Self.change(1, "name", "second", over: "first")]
        let selection = Self.selection(
            older, [Self.change(1, "name", "first", over: "backup")], obstacles: [1: [place: .outdated]])
        #expect(selection[0].left.isEmpty)
        #expect(selection[1].left == [place: .otherEntry(1)])
        // A value that others have written since is newer than both.
        let changed = Self.selection(
            older, [Self.change(1, "name", "first", over: "backup")],
            obstacles: [1: [place: .outdated], 2: [place: .outdated]])
        #expect(changed.map(\.isLeft) == [true, true])
        let emptied = Self.selection(
            [Self.change(1, "name", nil, over: "first")], [Self.change(1, "name", "first", over: "backup")],
            obstacles: [1: [place: .outdated]])
        #expect(emptied.map(\.left) == [[place: .emptiesField], [:]])
    }

    @Test func `an edit of an empty field has not replaced a zero`() {
        let place = LostChange(Self.record(1), "count")
        let edits = [(FieldValue.integer(4), FieldValue.null), (.integer(0), .integer(4))].map { value, before in
            let edit = FieldEdit(field: "count", value: value, before: before, seen: .zero)
            return Mutation(collection: "users", record: place.record.id, time: .zero, intent: .update([edit]))
        }
        let selection = Self.selection([edits[0]], [edits[1]], obstacles: [1: [place: .outdated]])
        #expect(selection.map(\.left) == [[place: .outdated], [:]])
    }

    @Test func `without entries, nothing is selected`() {
        #expect(Self.selection().isEmpty)
    }
}

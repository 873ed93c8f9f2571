import SyncCore
import SyncModel
import Testing

/// The selection of lost entries that are restored together.
@Suite struct LostEntriesTests {
    private static func id(_ number: UInt64) -> RecordID { RecordID(bits: Identifier128(high: 7, low: number)) }

    private static func change(_ record: UInt64, _ field: FieldName, _ value: String) -> Mutation {
        let edit = FieldEdit(field: field, value: .text(value), before: .null, seen: .zero)
        return Mutation(collection: "users", record: id(record), time: .zero, intent: .update([edit]))
    }

    private static func creation(_ record: UInt64, _ name: String) -> Mutation {
        Mutation(collection: "users", record: id(record), time: .zero, intent: .create(["name": .text(name)]))
    }

    /// Returns the selection from entries with the numbers 1, 2, and so on. The entries are added newest first, as the
    /// journal lists them.
    private static func selection(_ entries: [Mutation]...) -> (restored: [Int64], left: [LostEntries.Conflict]) {
        var lost = LostEntries()
        for (index, mutations) in entries.enumerated().reversed() {
            lost.add(Int64(index + 1), Transaction(space: .default, mutations: mutations), nil)
        }
        return lost.selection()
    }

    @Test func `of two values of one field, only the newest is restored`() {
        let (restored, left) = Self.selection(
            [Self.change(1, "name", "first"), Self.change(2, "name", "x")], [Self.change(1, "name", "second")],
            [Self.change(1, "bio", "text")], [Self.change(3, "name", "third")])
        #expect(restored == [2, 3, 4])
        #expect(left.map(\.entry) == [1] && left.map(\.selected) == [2])
    }

    @Test func `equal values of one field are restored together`() {
        let (restored, left) = Self.selection([Self.change(1, "name", "same")], [Self.change(1, "name", "same")])
        #expect(restored == [1, 2] && left.isEmpty)
    }

    @Test func `a creation is restored, and a later value of its field is left`() {
        let (restored, left) = Self.selection(
            [Self.creation(1, "first")], [Self.change(1, "name", "second")], [Self.change(1, "bio", "text")])
        #expect(restored == [1, 3])
        #expect(left.map(\.entry) == [2] && left.map(\.selected) == [1])
    }

    @Test func `an entry whose field has been changed since is left, and does not take the place of another`() {
        var lost = LostEntries()
        let older = Transaction(space: .default, mutations: [Self.change(1, "name", "first")])
        lost.add(2, Transaction(space: .default, mutations: [Self.change(1, "name", "second")]), .isOutdated)
        lost.add(1, older, nil)
        #expect(lost.selection().restored == [1] && lost.selection().left.isEmpty)
        #expect(lost.outdated == [2])
    }

    @Test func `an entry that would empty a field is left`() {
        var lost = LostEntries()
        lost.add(1, Transaction(space: .default, mutations: [Self.change(1, "name", "first")]), .empties)
        #expect(lost.selection().restored.isEmpty && lost.emptying == [1] && lost.outdated.isEmpty)
    }

    @Test func `without entries, nothing is selected`() {
        let (restored, left) = Self.selection()
        #expect(restored.isEmpty && left.isEmpty)
    }
}

import SyncModel
import TestRings
import Testing

@testable import SyncServerRules

/// The records that the application's rules see as the result of a push.
@Suite(.ring(.unit)) struct ProposedRecordsTests {
    private let id = RecordID(bits: Identifier128(high: 0, low: 1))

    private func mutation(_ intent: Mutation.Intent) -> Mutation {
        Mutation(collection: "todo", record: id, time: .zero, intent: intent)
    }

    @Test func `a create of a record that exists clears none of its fields, as in the authority`() {
        var proposed = ProposedRecords()
        let stored = ServerRecord(creating: id, ["title": .text("milk"), "note": .text("two")])
        let create = mutation(.create(["title": .text("bread"), "note": .null]))
        let merged = proposed.apply(create, over: stored)
        #expect(merged?["title"] == .text("bread"))
        #expect(merged?["note"] == .text("two"))
    }

    @Test func `later mutations see the result of earlier ones, also of a deletion`() {
        var proposed = ProposedRecords()
        _ = proposed.apply(mutation(.create(["title": .text("milk")])), over: nil)
        let edit = FieldEdit(field: "title", value: .text("bread"), before: .text("milk"), seen: .zero)
        #expect(proposed.apply(mutation(.update([edit])), over: nil)?["title"] == .text("bread"))
        #expect(proposed.apply(mutation(.delete(seen: .zero)), over: nil) == nil)
        #expect(proposed.apply(mutation(.update([edit])), over: nil) == nil)
    }
}

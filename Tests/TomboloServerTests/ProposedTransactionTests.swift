import SyncAuthority
import SyncModel
import TestRings
import Testing
import TomboloModeling

@testable import SyncServerRules

/// Tests the values that the application's rules see of a planned transaction.
@Suite(.ring(.unit)) struct ProposedTransactionTests {
    private struct Todo: Model {
        static let collection = "todo"
        let title = Field<String>("title", .required)
        let owner = Field<String?>("owner")
    }

    private struct Stranger: Model {
        static let collection = "stranger"
        let name = Field<String>("name")
    }

    private let id = RecordID(bits: Identifier128(high: 0, low: 1))

    private func state(_ title: String, version: Int64 = 1) -> RecordState {
        RecordState(id: id, uid: UID(3), version: Version(version), values: ["title": .text(title)])
    }

    private func mutation(_ title: String) -> Mutation {
        let edit = FieldEdit(field: "title", value: .text(title), before: .null, seen: .zero)
        return Mutation(collection: "todo", record: id, time: .zero, intent: .update([edit]))
    }

    /// Returns a transaction that sets a title twice, and whose first edit loses the merge.
    private func proposed() throws -> ProposedTransaction {
        let transaction = Transaction(space: .default, mutations: [mutation("bread"), mutation("milk")])
        let effects = [
            MutationEffect(before: state("tea"), after: state("tea")),
            MutationEffect(before: state("tea"), after: state("milk")),
        ]
        let catalog = try ServerApplication(models: [Todo.self]).catalog
        return ProposedTransaction(
            PlannedTransaction(number: .first, transaction: transaction, effects: effects),
            by: Principal(name: "ned"), catalog)
    }

    @Test func `rules see what the merge stores, by the names of the fields`() throws {
        let proposed = try proposed()
        #expect(proposed.principal.name == "ned" && proposed.space == .default)
        #expect(proposed.writes.map { $0.record?["title"] } == [.text("tea"), .text("tea")])
        #expect(proposed.writes.map { $0.proposed?["title"] } == [.text("tea"), .text("milk")])
        #expect(proposed.writes.map { $0.proposed?["owner"] } == [.null, .null])
        #expect(proposed.writes.first?.record?.version == Version(1))
    }

    @Test func `rules see the changes of a model as snapshots`() throws {
        let writes = try proposed().writes(of: Todo.self)
        #expect(writes.map { $0.before?.title } == ["tea", "tea"])
        #expect(writes.map { $0.proposed?.title } == ["tea", "milk"])
        #expect(throws: ModelDeclarationError.self) { _ = try proposed().writes(of: Stranger.self) }
    }

    @Test func `a record that the transaction creates has no state before the transaction`() throws {
        let create = Mutation(collection: "todo", record: id, time: .zero, intent: .create(["title": .text("a")]))
        let transaction = Transaction(space: .default, mutations: [create, mutation("b")])
        let effects = [
            MutationEffect(before: nil, after: state("a", version: 0)),
            MutationEffect(before: state("a", version: 0), after: state("b", version: 0)),
        ]
        let proposed = ProposedTransaction(
            PlannedTransaction(number: .first, transaction: transaction, effects: effects),
            by: Principal(name: "ned"), try ServerApplication(models: [Todo.self]).catalog)
        #expect(proposed.writes.map { $0.record == nil } == [true, true])
        #expect(proposed.writes.map { $0.before == nil } == [true, false])
    }
}

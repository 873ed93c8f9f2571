import Foundation
import SyncConcurrency
import SyncCore
import SyncModel
import SyncTestKit
import Testing
import TomboloModeling

@testable import SyncObjects

/// Tests writes of live objects that arrive while another write is made durable.
@Suite struct WriteGroupTests {
    private let source: GatedSource
    private let objects: LiveObjects

    init() throws {
        let models = try ModelCatalog([Todo.self, Person.self])
        source = GatedSource(MockSource(catalog: models.schemas))
        objects = LiveObjects(source: source, models: models, runtime: .mock())
    }

    /// Calls `write`, and returns when it waits for the gate or for another write.
    private func begin(_ write: @escaping @Sendable () async throws -> Receipt) async -> Task<Receipt, any Error> {
        let before = writesInProgress
        let task = Task { try await write() }
        while writesInProgress == before { await Task.yield() }
        return task
    }

    private var writesInProgress: Int { source.held + objects.waitingWrites.withLock(\.count) }

    @Test func `writes that arrive during a write are made durable together`() async throws {
        let drafts = try (0..<5).map { number in try objects.draft(Todo.self) { $0.title = "Todo \(number)" } }
        source.close()
        var tasks: [Task<Receipt, any Error>] = []
        for draft in drafts { tasks.append(await begin { try await draft.create() }) }
        source.open()
        for (task, draft) in zip(tasks, drafts) {
            #expect(try await task.value.records == [draft.id])
            #expect(draft.presence == .here)
        }
        #expect(source.groups == [1, 4])
    }

    @Test func `writes of one object stay separate and in order`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        let bread = try await objects.create(Todo.self) { $0.title = "Bread" }
        let ned = try objects.draft(Person.self) { $0.name = "Ned" }
        source.close()
        bread.isDone = true
        let first = await begin { try await bread.save() }
        milk.title = "Oat milk"
        milk.owner = ned
        let second = await begin { try await milk.save() }
        // The save of `milk` creates this draft, to which it refers.
        let third = await begin { try await ned.create() }
        let fourth = await begin { try await milk.delete() }
        source.open()
        #expect(try await first.value.records.count == 1)
        #expect(try await second.value.records.count == 2)
        #expect(try await Set(third.value.records) == [milk.id, ned.id])
        #expect(try await fourth.value.records == [milk.id])
        #expect(milk.presence == .gone && ned.presence == .here)
        #expect(source.groups == [1, 1, 1])
    }

    @Test func `a save of another task takes no part of a transaction, whose failure leaves no edits`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        let bread = try await objects.create(Todo.self) { $0.title = "Bread" }
        let ned = try objects.draft(Person.self) { $0.name = "Ned" }
        source.close()
        let first = await begin { try await ned.create() }
        milk.title = "Oat milk"
        let saved = await begin { try await milk.save() }
        let (objects, source) = (objects, source)
        let failed = Task {
            try await objects.write { transaction in
                transaction.edit(milk) { $0.isDone = true }
                // If this transaction could wait with its edits, the save would write a part of them.
                source.open()
                transaction.edit(bread) { $0.title = "" }
            }
        }
        // The transaction has its turn after the save.
        for _ in 0..<100 { await Task.yield() }
        #expect(!milk.isDone && bread.title == "Bread")
        source.open()
        _ = try await (first.value, saved.value)
        let refusal = await #expect(throws: ModelError.self) { try await failed.value }
        #expect(refusal?.message == "todo.title is empty")
        #expect(milk.title == "Oat milk" && !milk.isDone && bread.title == "Bread")
        #expect(milk.edits.isEmpty && bread.edits.isEmpty)
    }

    @Test func `a transaction that fails takes back its own edits only`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        milk.priority = .high
        milk.effort = 1
        _ = try await objects.write { transaction in
            transaction.edit(milk) {
                $0.isDone = true
                $0.priority = .low
                $0.effort = 20
            }
            // As another task may do it meanwhile.
            milk.title = "Oat milk"
            milk.effort = 2
        }
        #expect(milk.isDone && milk.priority == .low && milk.effort == 2 && milk.edits.fields == ["effort"])
        await #expect(throws: ModelError.self) {
            try await objects.write { transaction in
                transaction.edit(milk) {
                    $0.isDone = false
                    $0.priority = .normal
                    $0.title = ""
                }
                milk.effort = 3
            }
        }
        #expect(milk.isDone && milk.priority == .low && milk.title == "Oat milk" && milk.effort == 3)
        #expect(milk.edits.fields == ["effort"])
    }

    @Test func `a transaction writes its edits even if they were taken back meanwhile`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        _ = try await objects.write { transaction in
            transaction.edit(milk) { $0.isDone = true }
            milk.revert()
        }
        #expect(milk.isDone && milk.edits.isEmpty)
    }

    @Test func `edits of a task that the body of a transaction has started are not taken back`() async throws {
        let (milk, bread) = (
            try await objects.create(Todo.self) { $0.title = "Milk" },
            try await objects.create(Todo.self) { $0.title = "Bread" }
        )
        let started = Guarded<Task<Void, Never>?>(nil)
        source.close()
        source.refuse("Refused")
        let objects = objects
        let failed = await begin {
            try await objects.write { transaction in
                transaction.edit(milk) {
                    $0.title = "Refused"
                    started.withLock { $0 = Task { bread.effort = 7 } }
                }
            }
        }
        await started.withLock { $0 }?.value
        source.open()
        await #expect(throws: ModelError.self) { try await failed.value }
        #expect(bread.effort == 7 && bread.edits.fields == ["effort"] && milk.edits.isEmpty)
    }

    @Test func `a revert without edits is no change`() async throws {
        let milk = try await objects.create(Todo.self) { $0.title = "Milk" }
        let before = milk.version
        milk.revert()
        #expect(milk.version == before)
        milk.title = "Oat milk"
        milk.revert()
        #expect(milk.version > before && milk.title == "Milk")
    }

    @Test func `a write of a group that fails keeps its edits, and the others succeed`() async throws {
        var todos: [Live<Todo>] = []
        for number in 0..<3 { todos.append(try await objects.create(Todo.self) { $0.title = "Todo \(number)" }) }
        let blocker = try objects.draft(Person.self) { $0.name = "Ned" }
        source.close()
        source.refuse("Refused")
        let first = await begin { try await blocker.create() }
        var tasks: [Task<Receipt, any Error>] = []
        for (todo, title) in zip(todos, ["Milk", "Refused", "Bread"]) {
            todo.title = title
            tasks.append(await begin { try await todo.save() })
        }
        let invalid = try objects.draft(Todo.self) { $0.title = "" }
        let unprepared = await begin { try await invalid.create() }
        source.open()
        _ = try await first.value
        #expect(try await tasks[0].value.records == [todos[0].id])
        let refusal = await #expect(throws: ModelError.self) { try await tasks[1].value }
        #expect(refusal?.message == "Refused")
        #expect(try await tasks[2].value.records == [todos[2].id])
        let empty = await #expect(throws: ModelError.self) { try await unprepared.value }
        #expect(empty?.message == "todo.title is empty" && invalid.presence == .draft)
        #expect(todos[1].edits.fields == ["title"] && todos[0].edits.isEmpty && todos[2].edits.isEmpty)
        #expect(source.groups.last == 3)
    }
}

/// A source whose writes wait while its gate is closed.
private final class GatedSource: ModelSource {
    private struct State: Sendable {
        var isClosed = false
        var held = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var groups: [Int] = []
        var refused: String?
    }

    private let base: MockSource
    private let state = Guarded(State())

    init(_ base: MockSource) {
        self.base = base
    }

    /// The numbers of transactions of all calls, since the gate was last closed.
    var groups: [Int] { state.withLock { $0.groups } }
    /// The number of transactions that wait at the gate.
    var held: Int { state.withLock { $0.held } }

    func close() {
        state.withLock { state in
            state.isClosed = true
            state.groups = []
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isClosed = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Makes transactions fail that set any field to this text.
    func refuse(_ text: String) {
        state.withLock { $0.refused = text }
    }

    private func pass(_ count: Int) async {
        state.withLock { state in
            state.groups.append(count)
            state.held += count
        }
        await withCheckedContinuation { continuation in
            let passes = state.withLock { state in
                if state.isClosed { state.waiting.append(continuation) }
                return !state.isClosed
            }
            if passes { continuation.resume() }
        }
        state.withLock { $0.held -= count }
    }

    var largestWriteGroup: Int { 64 }

    func write(together transactions: [[ModelEdit]], now: WallTime) async -> [Result<WriteTicket, ModelError>] {
        await pass(transactions.count)
        let refused = state.withLock { $0.refused }.map { FieldValue.text($0) }
        return transactions.map { edits in
            Result { () throws(ModelError) in
                for case .update(_, _, let patch) in edits.map(\.edit)
                where patch.contains(where: { $0.value == refused }) {
                    throw ModelError(.rejected, "Refused")
                }
                return try base.write(edits, now: now)
            }
        }
    }

    func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelError) -> WriteTicket {
        try await write(together: [edits], now: now)[0].get()
    }

    var catalog: SchemaCatalog { base.catalog }
    var changes: Broadcast<StoreChange>? { base.changes }

    func lookup(_ collection: CollectionName, _ key: RecordKey) -> LookupResult { base.lookup(collection, key) }
    func fetch(_ collection: CollectionName, _ key: RecordKey) -> Record? { base.fetch(collection, key) }
    func confirm(_ ticket: WriteTicket) { base.confirm(ticket) }
    func isPending(_ collection: CollectionName, _ id: RecordID) -> Bool { base.isPending(collection, id) }

    func records(matching query: RecordQuery) throws(ModelError) -> [Record] {
        try base.records(matching: query)
    }
}

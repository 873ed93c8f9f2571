import SyncConcurrency
import SyncCore
import SyncModel
import SyncTestKit
import Testing
import TomboloModeling

@testable import SyncObjects

/// Tests reads of live objects during which the source changes: after the source has read, and before the object is
/// registered.
@Suite struct ReadRaceTests {
    private let source: HookedSource
    private let objects: LiveObjects
    private static let id = RecordID(bits: Identifier128(high: 1, low: 1))

    init() throws {
        let models = try ModelCatalog([Person.self, Todo.self])
        source = HookedSource(models.schemas)
        objects = LiveObjects(source: source, models: models, runtime: .mock())
    }

    private func person(_ name: String, version: Int64) -> Record {
        Record(id: Self.id, uid: UID(1), version: Version(version), values: [.text(name), .null])
    }

    /// Stores a record when the source has made its next read, and waits until live objects have heard of it.
    private func change(to record: Record) {
        source.afterNextRead { [objects, source] in
            let before = objects.beginRead().absorbed
            source.put(record)
            while objects.beginRead().absorbed == before { await Task.yield() }
        }
    }

    @Test func `an object that a query returns shows a change that was made during the query`() async throws {
        source.put(person("old", version: 1))
        change(to: person("new", version: 2))
        let all = try await objects.query(Person.self).all()
        #expect(all.map(\.name) == ["new"])
    }
}

/// A source that runs a body after a query has read, and before it returns.
private final class HookedSource: ModelSource {
    private struct State: Sendable {
        var records: [RecordID: Record] = [:]
        var hook: (@Sendable () async -> Void)?
    }

    let catalog: SchemaCatalog
    let changes: Broadcast<StoreChange>? = Broadcast()
    private let state = Guarded(State())

    init(_ catalog: SchemaCatalog) {
        self.catalog = catalog
    }

    func afterNextRead(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.hook = body }
    }

    func put(_ record: Record) {
        state.withLock { $0.records[record.id] = record }
        var change = StoreChange()
        change.touch(Person.collectionName, record.id)
        changes?.publish(change)
    }

    func lookup(_ collection: CollectionName, _ key: RecordKey) throws(ModelError) -> LookupResult {
        guard case .id(let id) = key else { return .notHere }
        return state.withLock { $0.records[id] }.map { .here($0) } ?? .notHere
    }

    func fetch(_ collection: CollectionName, _ key: RecordKey) async throws(ModelError) -> Record? { nil }

    func records(matching query: RecordQuery) async throws(ModelError) -> [Record] {
        let (records, hook) = state.withLock { state in
            defer { state.hook = nil }
            return (Array(state.records.values), state.hook)
        }
        await hook?()
        return query.matches(among: records, schema: catalog.models[0])
    }

    func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelError) -> WriteTicket {
        WriteTicket(sequence: nil)
    }

    func confirm(_ ticket: WriteTicket) async throws(ModelError) {}

    func isPending(_ collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool { false }
}

extension Person {
    fileprivate static var collectionName: CollectionName { CollectionName(rawValue: collection)! }
}

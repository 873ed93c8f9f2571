public import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncObjects

/// A source of live objects with no store and no network, which confirms each write at once.
public final class MockSource: ModelSource {
    private struct State: Sendable {
        var version = Version.zero
        var nextUIDs: [CollectionName: Int64] = [:]
        var records: [CollectionName: [RecordID: Record]] = [:]
    }

    public let catalog: SchemaCatalog
    private let failure: ModelFailure?
    private let state = Guarded(State())

    /// - Parameter failure: the error that each write throws; nil when writes succeed.
    public init(catalog: SchemaCatalog, failingWith failure: ModelFailure? = nil) {
        self.catalog = catalog
        self.failure = failure
    }

    public func lookup(_ collection: CollectionName, _ key: RecordKey) -> LookupResult {
        let record = state.withLock { state in
            switch key {
            case .id(let id): state.records[collection]?[id]
            case .uid(let uid): state.records[collection]?.values.first { $0.uid == uid }
            }
        }
        return record.map { .here($0) } ?? .notHere
    }

    public func fetch(_ collection: CollectionName, _ key: RecordKey) -> Record? {
        if case .here(let record) = lookup(collection, key) { record } else { nil }
    }

    public func records(matching query: RecordQuery) throws(ModelFailure) -> [Record] {
        guard let schema = catalog[query.collection] else {
            throw ModelFailure(.invalidValue, "there is no collection \(query.collection)")
        }
        let records = state.withLock { $0.records[query.collection] ?? [:] }
        return query.matches(among: records.values, schema: schema)
    }

    public func write(_ edits: [ModelEdit], now: WallTime) throws(ModelFailure) -> WriteTicket {
        if let failure { throw failure }
        state.withLock { state in
            state.version = state.version.next
            for edit in edits { apply(edit.edit, to: &state) }
        }
        return WriteTicket(sequence: nil)
    }

    private func apply(_ edit: RecordEdit, to state: inout State) {
        guard let schema = catalog[edit.collection] else { return }
        switch edit {
        case .create(let collection, let id, let patch):
            let uid = state.nextUIDs[collection, default: 0]
            state.nextUIDs[collection] = uid + 1
            state.records[collection, default: [:]][id] = Record(
                id: id, uid: UID(uid), version: state.version, creating: patch, schema: schema)
        case .update(let collection, let id, let patch):
            let record = state.records[collection]?[id]?.updated(by: patch, at: state.version, schema: schema)
            state.records[collection]?[id] = record
        case .delete(let collection, let id): state.records[collection]?[id] = nil
        }
    }

    public func confirm(_ ticket: WriteTicket) {}

    public func isPending(_ collection: CollectionName, _ id: RecordID) -> Bool { false }

    public var changes: Broadcast<StoreChange>? { nil }
}

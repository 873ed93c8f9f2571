public import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncObjects

/// A source of live objects with no store and no network, which confirms each write at once.
public final class MockSource: ModelSource {
    public let catalog: SchemaCatalog
    private let failure: ModelError?
    private let state: Guarded<State>

    private struct State: Sendable {
        var records: RemoteSpace
        /// The spaces of the records that were created in another space than the default one.
        var spaces: [RecordID: SpaceID] = [:]
    }

    /// Creates a source without records.
    ///
    /// - Parameter failure: the error that each write throws; nil when writes succeed.
    public init(catalog: SchemaCatalog, failingWith failure: ModelError? = nil) {
        self.catalog = catalog
        self.failure = failure
        state = Guarded(State(records: RemoteSpace(catalog)))
    }

    public func lookup(_ collection: CollectionName, _ key: RecordKey) -> LookupResult {
        state.withLock { $0.records.record(collection, key) }.map { .here($0) } ?? .notHere
    }

    public func fetch(_ collection: CollectionName, _ key: RecordKey) -> Record? {
        if case .here(let record) = lookup(collection, key) { record } else { nil }
    }

    public func records(matching query: RecordQuery) throws(ModelError) -> [Record] {
        guard let schema = catalog[query.collection] else {
            throw ModelError(.invalidValue, "there is no collection \(query.collection)")
        }
        let (records, spaces) = state.withLock { ($0.records[query.collection].values, $0.spaces) }
        let known = records.filter { query.space == nil || query.space == spaces[$0.id] ?? .default }
        return query.matches(among: known, schema: schema)
    }

    public func write(_ edits: [ModelEdit], now: WallTime) throws(ModelError) -> WriteTicket {
        if let failure { throw failure }
        state.withLock { state in
            for edit in edits { if let space = edit.space { state.spaces[edit.edit.record] = space } }
            _ = state.records.commit(edits.map(\.edit))
        }
        return WriteTicket(sequence: nil)
    }

    public func confirm(_ ticket: WriteTicket) {}

    public func isPending(_ collection: CollectionName, _ id: RecordID) -> Bool { false }

    public var changes: Broadcast<StoreChange>? { nil }
}

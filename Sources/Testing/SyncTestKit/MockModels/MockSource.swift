public import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncObjects

/// A source of live objects with no store and no network, which confirms each write at once.
public final class MockSource: ModelSource {
    public let catalog: SchemaCatalog
    private let failure: ModelError?
    private let space: Guarded<RemoteSpace>

    /// Creates a source without records.
    ///
    /// - Parameter failure: the error that each write throws; nil when writes succeed.
    public init(catalog: SchemaCatalog, failingWith failure: ModelError? = nil) {
        self.catalog = catalog
        self.failure = failure
        space = Guarded(RemoteSpace(catalog))
    }

    public func lookup(_ collection: CollectionName, _ key: RecordKey) -> LookupResult {
        space.withLock { $0.record(collection, key) }.map { .here($0) } ?? .notHere
    }

    public func fetch(_ collection: CollectionName, _ key: RecordKey) -> Record? {
        if case .here(let record) = lookup(collection, key) { record } else { nil }
    }

    public func records(matching query: RecordQuery) throws(ModelError) -> [Record] {
        guard let schema = catalog[query.collection] else {
            throw ModelError(.invalidValue, "there is no collection \(query.collection)")
        }
        let records = space.withLock { $0[query.collection] }
        return query.matches(among: records.values, schema: schema)
    }

    public func write(_ edits: [ModelEdit], now: WallTime) throws(ModelError) -> WriteTicket {
        if let failure { throw failure }
        space.withLock { _ = $0.commit(edits.map(\.edit)) }
        return WriteTicket(sequence: nil)
    }

    public func confirm(_ ticket: WriteTicket) {}

    public func isPending(_ collection: CollectionName, _ id: RecordID) -> Bool { false }

    public var changes: Broadcast<StoreChange>? { nil }
}

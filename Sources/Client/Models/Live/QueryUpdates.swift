import SyncConcurrency
import SyncCore
import SyncModel

/// The objects that match a query, now and after each change of their collection.
public struct QueryUpdates<Model: Sendable>: AsyncSequence, Sendable {
    public typealias Element = [Model]
    public typealias Failure = ModelFailure

    let collection: CollectionName
    let changes: Broadcast<StoreChange>
    let query: @Sendable () async throws(ModelFailure) -> [Model]

    init(
        collection: CollectionName, changes: Broadcast<StoreChange>,
        query: @escaping @Sendable () async throws(ModelFailure) -> [Model]
    ) {
        self.collection = collection
        self.changes = changes
        self.query = query
    }

    /// Returns the same sequence with each object transformed, for example into a protocol that it conforms to.
    public func map<Other: Sendable>(each body: @escaping @Sendable (Model) -> Other) -> QueryUpdates<Other> {
        QueryUpdates<Other>(collection: collection, changes: changes) { [query] () async throws(ModelFailure) in
            try await query().map(body)
        }
    }

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(collection: collection, changes: changes.subscribe().makeAsyncIterator(), query: query)
    }

    public struct Iterator: AsyncIteratorProtocol {
        let collection: CollectionName
        var changes: Broadcast<StoreChange>.Subscription.Iterator
        let query: @Sendable () async throws(ModelFailure) -> [Model]
        var hasBegun = false

        init(
            collection: CollectionName, changes: Broadcast<StoreChange>.Subscription.Iterator,
            query: @escaping @Sendable () async throws(ModelFailure) -> [Model]
        ) {
            self.collection = collection
            self.changes = changes
            self.query = query
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ModelFailure) -> [Model]? {
            if !hasBegun {
                hasBegun = true
                return try await query()
            }
            while let change = await changes.next(isolation: actor) {
                if change.extents[collection] != nil { return try await query() }
            }
            return nil
        }

        public mutating func next() async throws(ModelFailure) -> [Model]? {
            try await next(isolation: #isolation)
        }
    }
}

import SyncConcurrency
public import SyncModel

/// The results of a store query: one now, and one after each change that may affect it.
///
/// The first element is delivered at once. Equal results in a row are delivered once, and a slow reader gets the newest
/// one rather than all. Iterate in any task; cancel the task to stop.
public struct StoreObservation<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    fileprivate let store: any LocalStore
    fileprivate let isTouched: @Sendable (StoreChange) -> Bool
    fileprivate let ask: @Sendable (any LocalStore) throws(StoreError) -> Value

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(observation: self, changes: store.changes.subscribe().makeAsyncIterator())
    }

    /// Delivers the results to one reader. Every iterator begins with the current result.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observation: StoreObservation
        fileprivate var changes: Broadcast<StoreChange>.Subscription.Iterator
        fileprivate var last: Value?

        /// - Throws: `StoreError` when the store cannot run the query. The observation ends then.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> Value? {
            if last == nil {
                let response = try observation.ask(observation.store)
                last = response
                return response
            }
            while let change = await changes.next(isolation: actor) {
                guard observation.isTouched(change) else { continue }
                let response = try observation.ask(observation.store)
                guard response != last else { continue }
                last = response
                return response
            }
            return nil
        }

        public mutating func next() async throws(StoreError) -> Value? {
            try await next(isolation: #isolation)
        }
    }
}

extension LocalStore {
    /// Observes one current record; the element is nil while it does not exist on this device.
    public func observe(_ collection: CollectionName, _ key: RecordKey) -> StoreObservation<Record?> {
        StoreObservation(
            store: self,
            isTouched: { change in
                switch key {
                case .id(let id): change.touches(collection, id)
                // The record that will have the uid is not known before it arrives.
                case .uid: change.extents[collection] != nil
                }
            },
            ask: { (store) throws(StoreError) in try store.record(collection, key) })
    }

    /// Observes the matching records, in the order of the query.
    public func observe(_ query: RecordQuery) -> StoreObservation<[Record]> {
        StoreObservation(
            store: self, isTouched: { $0.extents[query.collection] != nil },
            ask: { (store) throws(StoreError) in try store.records(matching: query) })
    }

    /// Observes the counts of the outbox and the journal.
    public func observeOutbox() -> StoreObservation<OutboxSummary> {
        StoreObservation(
            store: self, isTouched: { $0.touchesOutbox },
            ask: { (store) throws(StoreError) in try store.outboxSummary() })
    }
}

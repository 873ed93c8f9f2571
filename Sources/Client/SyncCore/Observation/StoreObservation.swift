import SyncConcurrency
public import SyncModel

/// The results of a store query: the current result, and then each new result after a change in the store.
///
/// The first element is delivered at once. A result that equals the one before it is skipped, and a slow reader gets
/// the newest result rather than all of them. Iterate in any task; cancel the task to stop.
public struct StoreObservation<Value: Equatable & Sendable>: AsyncSequence, Sendable {
    fileprivate let store: any LocalStore
    fileprivate let isTouched: @Sendable (StoreChange) -> Bool
    fileprivate let read: @Sendable (any LocalStore) throws(StoreError) -> Value

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(observation: self, changes: store.changes.subscribe().makeAsyncIterator())
    }

    /// Delivers the results to one reader. Every iterator begins with the current result.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let observation: StoreObservation
        fileprivate var changes: Broadcast<StoreChange>.Subscription.Iterator
        fileprivate var last: Value?

        /// - Throws: `StoreError` when the store cannot run the query. Another call tries again: at once if there was
        ///   no result yet, otherwise after the next change.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> Value? {
            if last == nil {
                let result = try observation.read(observation.store)
                last = result
                return result
            }
            while let change = await changes.next(isolation: actor) {
                guard observation.isTouched(change) else { continue }
                let result = try observation.read(observation.store)
                guard result != last else { continue }
                last = result
                return result
            }
            return nil
        }

        public mutating func next() async throws(StoreError) -> Value? {
            try await next(isolation: #isolation)
        }
    }
}

extension LocalStore {
    /// Observes one current record. The element is nil while the record does not exist on this device.
    public func observe(_ collection: CollectionName, _ key: RecordKey) -> StoreObservation<Record?> {
        StoreObservation(
            store: self,
            isTouched: { change in
                switch key {
                case .id(let id): change.touches(collection, id)
                // The id of the record with this uid is unknown until the record arrives.
                case .uid: change.extents[collection] != nil
                }
            },
            read: { (store) throws(StoreError) in try store.record(collection, key) })
    }

    /// Observes the matching records, in the order of the query.
    public func observe(_ query: RecordQuery) -> StoreObservation<[Record]> {
        StoreObservation(
            store: self, isTouched: { $0.extents[query.collection] != nil },
            read: { (store) throws(StoreError) in try store.records(matching: query) })
    }

    /// Observes the counts of the outbox and the journal.
    public func observeOutbox() -> StoreObservation<OutboxSummary> {
        StoreObservation(
            store: self, isTouched: { $0.touchesOutbox },
            read: { (store) throws(StoreError) in try store.outboxSummary() })
    }
}

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
        /// Whether the store may have changed since the last read that succeeded.
        fileprivate var needsRead = true

        /// Returns the next result; nil when the store is closed.
        ///
        /// - Throws: `StoreError` when the store cannot run the query. Another call tries again at once.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> Value? {
            while true {
                if !needsRead {
                    guard let change = await changes.next(isolation: actor) else { return nil }
                    guard observation.isTouched(change) else { continue }
                    needsRead = true
                }
                let result = try observation.read(observation.store)
                needsRead = false
                guard result != last else { continue }
                last = result
                return result
            }
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

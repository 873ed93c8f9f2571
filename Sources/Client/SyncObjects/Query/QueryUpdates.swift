import SyncConcurrency
import SyncCore
import SyncModel

/// The objects that match a query: a list now, and another after each change that affects it.
///
/// A new list follows when a record joins or leaves the list, moves, gets its uid, or changes a value. A slow reader
/// gets the newest list, not all of them. The sequence ends when the client is closed.
public struct QueryUpdates<Object: Sendable>: AsyncSequence, Sendable {
    public typealias Element = [Object]
    public typealias Failure = ModelError

    let collection: CollectionName
    let changes: Broadcast<StoreChange>
    /// Returns whether the source is closed.
    let isEnded: @Sendable () -> Bool
    let read: @Sendable () async throws(ModelError) -> [(record: Record, object: Object)]

    init(
        collection: CollectionName, changes: Broadcast<StoreChange>, isEnded: @escaping @Sendable () -> Bool,
        read: @escaping @Sendable () async throws(ModelError) -> [(record: Record, object: Object)]
    ) {
        self.collection = collection
        self.changes = changes
        self.isEnded = isEnded
        self.read = read
    }

    /// Returns the same sequence with each object transformed, for example into a protocol that it conforms to.
    public func map<Other: Sendable>(each body: @escaping @Sendable (Object) -> Other) -> QueryUpdates<Other> {
        QueryUpdates<Other>(
            collection: collection, changes: changes, isEnded: isEnded,
            read: { [read] () async throws(ModelError) in
                try await read().map { ($0.record, body($0.object)) }
            })
    }

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(updates: self, changes: changes.subscribe().makeAsyncIterator())
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let updates: QueryUpdates
        var changes: Broadcast<StoreChange>.Subscription.Iterator
        var last: [ShownRecord]?
        /// Whether the records may have changed since the last read that succeeded.
        var needsRead = true

        init(updates: QueryUpdates, changes: Broadcast<StoreChange>.Subscription.Iterator) {
            self.updates = updates
            self.changes = changes
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ModelError) -> [Object]? {
            while true {
                if !needsRead {
                    guard let change = await changes.next(isolation: actor), !updates.isEnded() else { return nil }
                    guard change.extents[updates.collection] != nil else { continue }
                    needsRead = true
                }
                let found: [(record: Record, object: Object)]
                do throws(ModelError) {
                    found = try await updates.read()
                } catch {
                    // The store may have been closed during the read.
                    if updates.isEnded() { return nil }
                    throw error
                }
                needsRead = false
                let shown = found.map { ShownRecord($0.record) }
                guard shown != last else { continue }
                last = shown
                return found.map(\.object)
            }
        }

        public mutating func next() async throws(ModelError) -> [Object]? {
            try await next(isolation: #isolation)
        }
    }
}

/// The part of a record that an application sees. It lacks the version, which changes even if the server only confirms
/// the values.
struct ShownRecord: Hashable, Sendable {
    let id: RecordID
    let uid: UID
    let values: [FieldValue]

    init(_ record: Record) {
        id = record.id
        uid = record.uid
        values = record.values
    }
}

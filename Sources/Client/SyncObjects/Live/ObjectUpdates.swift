import SyncConcurrency
import SyncCore

/// The presence of one object now, and after each change that was written or arrived.
///
/// The sequence ends when the object is gone, the client is closed, or the task is cancelled. Setting a value without
/// writing it does not wake a waiting reader, but causes an element at the next call of `next`, or at the next change
/// of the record. If the client has no store, neither do values that a query brings.
public struct ObjectUpdates: AsyncSequence, Sendable {
    public typealias Element = Presence
    public typealias Failure = Never

    let cell: LiveCell

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        let (collection, id) = (cell.collection, cell.id)
        let changes = cell.objects.changes.subscribe { change in
            // A record that is known by its uid may have any id.
            id.map { change.touches(collection, $0) } ?? (change.extents[collection] != nil)
        }
        return Iterator(cell: cell, news: changes.makeAsyncIterator())
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let cell: LiveCell
        var news: Broadcast<StoreChange>.Subscription.Iterator
        var seen: Int?
        var isOver = false

        init(cell: LiveCell, news: Broadcast<StoreChange>.Subscription.Iterator) {
            self.cell = cell
            self.news = news
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Presence? {
            while !isOver, !Task.isCancelled {
                let (presence, revision) = cell.observedState
                if revision != seen {
                    seen = revision
                    isOver = presence == .gone
                    return presence
                }
                guard await news.next(isolation: actor) != nil else { return nil }
            }
            return nil
        }

        public mutating func next() async -> Presence? {
            await next(isolation: #isolation)
        }
    }
}

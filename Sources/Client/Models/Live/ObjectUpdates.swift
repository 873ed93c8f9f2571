import SyncConcurrency
import SyncCore

/// The presence of one object now, and after each change that was written or arrived. Ends when it is gone, or with its
/// task. What is set and not written yet is told along with the next such change.
public struct ObjectUpdates: AsyncSequence, Sendable {
    public typealias Element = Presence
    public typealias Failure = Never

    let cell: LiveCell

    public func makeAsyncIterator() -> Iterator {
        // Subscribed before the first look, so that no change falls between the two.
        Iterator(cell: cell, news: cell.objects.changes.subscribe().makeAsyncIterator())
    }

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

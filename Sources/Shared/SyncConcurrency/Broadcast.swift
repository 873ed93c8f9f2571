/// News that can be joined with later news that its reader has not taken yet.
public protocol Coalescing: Sendable {
    mutating func absorb(_ later: Self)
}

/// Sends each piece of news to every subscriber. A slow subscriber costs one value, not a queue: what it has not
/// taken is joined into one.
public final class Broadcast<News: Coalescing>: Sendable {
    private struct State: Sendable {
        var nextID = 0
        var mailboxes: [Int: Mailbox] = [:]
        var isFinished = false
    }

    private struct Mailbox: Sendable {
        var pending: News?
        let doorbell: AsyncStream<Void>.Continuation
    }

    private let state = Guarded(State())

    public init() {}

    /// Adds `news` to what each subscriber has not taken yet. Does not wait for any of them.
    public func publish(_ news: News) {
        let doorbells = state.withLock { state in
            // Sorted: in a simulation the order of wake-ups must not depend on hashing.
            state.mailboxes.keys.sorted().map { id in
                if state.mailboxes[id]?.pending == nil {
                    state.mailboxes[id]?.pending = news
                } else {
                    state.mailboxes[id]?.pending?.absorb(news)
                }
                return state.mailboxes[id]?.doorbell
            }
        }
        for doorbell in doorbells { doorbell?.yield() }
    }

    /// Ends every subscription, once its pending news has been taken.
    public func finish() {
        let doorbells = state.withLock { state in
            state.isFinished = true
            return state.mailboxes.keys.sorted().map { state.mailboxes[$0]?.doorbell }
        }
        // Outside the lock: the end of a stream calls back into `ended`.
        for doorbell in doorbells { doorbell?.finish() }
    }

    /// News from now on. The subscription ends when its iterator's task is cancelled or the feed finishes.
    public func subscribe() -> Subscription {
        let (stream, doorbell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (id, isFinished) = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            if !state.isFinished { state.mailboxes[id] = Mailbox(pending: nil, doorbell: doorbell) }
            return (id, state.isFinished)
        }
        doorbell.onTermination = { [weak self] reason in
            // After a finish the last news may still be taken; after a cancellation nobody will.
            if case .cancelled = reason { self?.drop(id) }
        }
        if isFinished { doorbell.finish() }
        return Subscription(feed: self, id: id, stream: stream)
    }

    private func take(_ id: Int) -> News? {
        state.withLock { state in
            let news = state.mailboxes[id]?.pending
            if state.isFinished { state.mailboxes[id] = nil } else { state.mailboxes[id]?.pending = nil }
            return news
        }
    }

    private func drop(_ id: Int) {
        state.withLock { $0.mailboxes[id] = nil }
    }

    /// How many subscriptions are kept.
    package var subscriberCount: Int {
        state.withLock { $0.mailboxes.count }
    }

    /// One subscriber's news. Iterate it once.
    public struct Subscription: AsyncSequence, Sendable {
        fileprivate let feed: Broadcast
        fileprivate let id: Int
        fileprivate let stream: AsyncStream<Void>

        public func makeAsyncIterator() -> Iterator {
            Iterator(feed: feed, id: id, doorbell: stream.makeAsyncIterator())
        }

        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let feed: Broadcast
            fileprivate let id: Int
            fileprivate var doorbell: AsyncStream<Void>.Iterator

            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> News? {
                while await doorbell.next(isolation: actor) != nil {
                    if let news = feed.take(id) { return news }
                }
                return feed.take(id)
            }

            public mutating func next() async -> News? {
                await next(isolation: #isolation)
            }
        }
    }
}

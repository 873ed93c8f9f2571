/// A value that can be merged with later values that its reader has not taken yet.
public protocol Coalescing: Sendable {
    /// Merges a later value into this one.
    mutating func absorb(_ later: Self)
}

/// An in-memory fan-out that delivers each published value to every subscriber.
///
/// A slow subscriber costs one value, not a queue: the values that it has not taken are merged into one.
public final class Broadcast<Value: Coalescing>: Sendable {
    private struct State: Sendable {
        var nextID = 0
        var mailboxes: [Int: Mailbox] = [:]
        var isFinished = false
    }

    private struct Mailbox: Sendable {
        var pending: Value?
        /// Returns whether the subscriber wants a value; nil if it wants all.
        let isWanted: (@Sendable (Value) -> Bool)?
        let wakeup: AsyncStream<Void>.Continuation
    }

    private let state = Guarded(State())

    /// Creates a broadcast without subscribers.
    public init() {}

    /// Delivers `value` to every subscriber that wants it, merging it into the value that the subscriber has not taken
    /// yet. Never waits.
    public func publish(_ value: Value) {
        let wakeups = state.withLock { state in
            // Sorted, because in a simulation the order of wake-ups must not depend on hashing.
            state.mailboxes.keys.sorted().map { id -> AsyncStream<Void>.Continuation? in
                guard state.mailboxes[id]?.isWanted?(value) ?? true else { return nil }
                if state.mailboxes[id]?.pending == nil {
                    state.mailboxes[id]?.pending = value
                } else {
                    state.mailboxes[id]?.pending?.absorb(value)
                }
                return state.mailboxes[id]?.wakeup
            }
        }
        for wakeup in wakeups { wakeup?.yield() }
    }

    /// Ends every subscription after its pending value has been taken.
    public func finish() {
        let wakeups = state.withLock { state in
            state.isFinished = true
            return state.mailboxes.keys.sorted().map { state.mailboxes[$0]?.wakeup }
        }
        // Outside the lock, because finishing a stream calls `onTermination`, which may take the lock.
        for wakeup in wakeups { wakeup?.finish() }
    }

    /// Returns a subscription to the values published from now on.
    ///
    /// The subscription ends when the task that iterates it is cancelled, or when `finish()` is called.
    ///
    /// - Parameter isWanted: Returns whether to deliver a value; nil for all values. It is called under a lock: it must
    ///   be quick, and must not use the broadcast.
    public func subscribe(where isWanted: (@Sendable (Value) -> Bool)? = nil) -> Subscription {
        let (stream, wakeup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (id, isFinished) = state.withLock { state in
            let id = state.nextID
            state.nextID += 1
            if !state.isFinished { state.mailboxes[id] = Mailbox(pending: nil, isWanted: isWanted, wakeup: wakeup) }
            return (id, state.isFinished)
        }
        wakeup.onTermination = { [weak self] reason in
            // After a finish, the subscriber may still take the last value. After a cancellation, it never will.
            if case .cancelled = reason { self?.drop(id) }
        }
        if isFinished { wakeup.finish() }
        return Subscription(broadcast: self, id: id, stream: stream)
    }

    private func take(_ id: Int) -> Value? {
        state.withLock { state in
            let value = state.mailboxes[id]?.pending
            if state.isFinished { state.mailboxes[id] = nil } else { state.mailboxes[id]?.pending = nil }
            return value
        }
    }

    private func drop(_ id: Int) {
        state.withLock { $0.mailboxes[id] = nil }
    }

    /// The number of subscriptions that are still registered.
    package var subscriberCount: Int {
        state.withLock { $0.mailboxes.count }
    }

    /// The values for one subscriber. Iterate it only once.
    public struct Subscription: AsyncSequence, Sendable {
        fileprivate let broadcast: Broadcast
        fileprivate let id: Int
        fileprivate let stream: AsyncStream<Void>

        public func makeAsyncIterator() -> Iterator {
            Iterator(broadcast: broadcast, id: id, wakeup: stream.makeAsyncIterator())
        }

        /// Waits for each value and takes it. Returns nil when the subscription has ended.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let broadcast: Broadcast
            fileprivate let id: Int
            fileprivate var wakeup: AsyncStream<Void>.Iterator

            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Value? {
                while await wakeup.next(isolation: actor) != nil {
                    if let value = broadcast.take(id) { return value }
                }
                return broadcast.take(id)
            }

            public mutating func next() async -> Value? {
                await next(isolation: #isolation)
            }
        }
    }
}

import SyncConcurrency
import SyncCore
import SyncModel

/// The latest change of each part of a store, by the number of the change.
///
/// A page asks for the news since a number. However many pages there are, and however slow they are, this is all that
/// is kept for them.
struct StoreNews: Sendable {
    /// The number of the latest change.
    private(set) var latest: Int64 = 1
    private var collections: [CollectionName: Int64] = [:]
    private var outbox: Int64 = 1
    private var spaces: Int64 = 1

    /// Whether the store has closed, so that no more changes will come.
    var isOver = false

    /// The parts that have changed.
    struct Parts: Hashable, Sendable {
        var collections: [CollectionName]
        var outbox: Bool
        var spaces: Bool
    }

    mutating func note(_ change: StoreChange) {
        guard !change.isEmpty else { return }
        latest += 1
        for collection in change.extents.keys { collections[collection] = latest }
        if change.touchesOutbox { outbox = latest }
        if change.touchesSpaces { spaces = latest }
    }

    /// Returns the parts that have changed since the change with this number; nil if none has.
    ///
    /// A number that this run has not given out is that of another run, so everything counts as changed.
    func parts(since number: Int64, in catalog: SchemaCatalog) -> Parts? {
        guard (1...latest).contains(number) else {
            return Parts(collections: catalog.models.map(\.collection), outbox: true, spaces: true)
        }
        guard number < latest else { return nil }
        return Parts(
            collections: collections.filter { $0.value > number }.map(\.key).sorted(), outbox: outbox > number,
            spaces: spaces > number)
    }
}

/// Lets calls wait for the news of a store.
final class StoreNewsFeed: Sendable {
    private struct State: Sendable {
        var news = StoreNews()
        var nextWaiter = 0
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
    }

    private let state = Guarded(State())

    var current: StoreNews { state.withLock { $0.news } }

    /// Notes the changes of a store until it is closed or the task is cancelled.
    func follow(_ changes: Broadcast<StoreChange>.Subscription) async {
        for await change in changes { update { $0.note(change) } }
        update { $0.isOver = true }
    }

    private func update(_ body: (inout StoreNews) -> Void) {
        let waiters = state.withLock { state in
            body(&state.news)
            let waiters = Array(state.waiters.values)
            state.waiters = [:]
            return waiters
        }
        for waiter in waiters { waiter.finish() }
    }

    /// Returns when there is news since a number, or when `ending` has ended the wait.
    ///
    /// - Parameter ending: gets a closure that ends the wait, which may be called at any time and more than once.
    func wait(since number: Int64, ending: (@escaping @Sendable () -> Void) -> Void) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let waiter: Int? = state.withLock { state in
            guard state.news.latest == number, !state.news.isOver else { return nil }
            state.nextWaiter += 1
            state.waiters[state.nextWaiter] = continuation
            return state.nextWaiter
        }
        guard let waiter else { return }
        ending { continuation.finish() }
        for await _ in stream {}
        state.withLock { $0.waiters[waiter] = nil }
    }
}

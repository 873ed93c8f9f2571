import SyncAuthority
import SyncConcurrency
import SyncCore
package import SyncModel

extension AuthorityEndpoint {
    /// What is committed from now on in those of `spaces` that the principal may read.
    ///
    /// Ends with the authority's feed. A space that may not be read ends it at once, as an HTTP server would.
    package func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        if let hidden = spaces.first(where: { !authority.mayRead($0, principal) }) {
            return AsyncThrowingStream {
                throw TransportFailure(.forbidden, "there is no space \(hidden), or none that you may read")
            }
        }
        let source = HintSource(authority.commits.subscribe(), spaces: Set(spaces))
        return AsyncThrowingStream { await source.next() }
    }
}

/// Takes the news of an authority apart into hints. One reader at a time.
private actor HintSource {
    private let spaces: Set<SpaceID>
    private var news: CoalescingFeed<SpaceHeads>.Subscription.Iterator
    /// What the last news told, the first to be given out at the end.
    private var waiting: [Hint] = []

    init(_ subscription: CoalescingFeed<SpaceHeads>.Subscription, spaces: Set<SpaceID>) {
        news = subscription.makeAsyncIterator()
        self.spaces = spaces
    }

    func next() async -> Hint? {
        while waiting.isEmpty {
            var iterator = news
            guard let heads = await iterator.next(isolation: self) else { return nil }
            news = iterator
            waiting = heads.heads.filter { spaces.contains($0.key) }
                .map { Hint(space: $0.key, head: $0.value) }
                .sorted { $0.space > $1.space }
        }
        return waiting.popLast()
    }
}

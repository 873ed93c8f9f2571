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
        // The heads are read after that: whoever has seen them misses no commit.
        let news = authority.commits.subscribe()
        do throws(AuthorityFailure) {
            var heads: [Hint] = []
            for space in spaces { if let head = try head(of: space) { heads.append(head) } }
            let source = HintSource(heads, news, spaces: Set(spaces))
            return AsyncThrowingStream { await source.next() }
        } catch {
            let failure = TransportFailure(error)
            return AsyncThrowingStream { throw failure }
        }
    }

    private func head(of space: SpaceID) throws(AuthorityFailure) -> Hint? {
        let first = PullRequest(space: space, cursor: nil, limit: 1)
        guard case .page(let page) = try authority.pull(first, by: principal, now: now()) else { return nil }
        return Hint(space: space, head: page.head)
    }
}

/// Takes the news of an authority apart into hints. One reader at a time.
private actor HintSource {
    private let spaces: Set<SpaceID>
    private var news: CoalescingFeed<SpaceHeads>.Subscription.Iterator
    /// What the last news told, the first to be given out at the end.
    private var waiting: [Hint]

    init(_ heads: [Hint], _ subscription: CoalescingFeed<SpaceHeads>.Subscription, spaces: Set<SpaceID>) {
        news = subscription.makeAsyncIterator()
        self.spaces = spaces
        waiting = heads.reversed()
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

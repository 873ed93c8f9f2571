import SyncAuthority
import SyncConcurrency
import SyncCore
package import SyncModel

extension AuthorityEndpoint {
    /// The newest versions of `spaces`, and then what is committed in them.
    ///
    /// Ends with the authority's feed. Of spaces that may not be read nothing is told; where that is all of them it ends at
    /// once, as an HTTP server would.
    package func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let readable = spaces.filter { authority.mayRead($0, principal) }
        guard !readable.isEmpty else {
            let names = spaces.map(\.rawValue).joined(separator: ", ")
            return AsyncThrowingStream {
                throw TransportFailure(
                    .forbidden, "there is none of these spaces, or none that you may read: \(names)")
            }
        }
        // The heads are read after that: whoever has seen them misses no commit.
        let news = authority.commits.subscribe()
        do throws(AuthorityFailure) {
            let heads = try authority.heads(of: readable, for: principal, now: now())
            let source = HintSource(heads, news, spaces: Set(readable))
            return AsyncThrowingStream { await source.next() }
        } catch {
            let failure = TransportFailure(error)
            return AsyncThrowingStream { throw failure }
        }
    }
}

/// Takes the news of an authority apart into hints. One reader at a time.
private actor HintSource {
    private let spaces: Set<SpaceID>
    private var news: Broadcast<SpaceHeads>.Subscription.Iterator
    /// The last news, the first to be given out at the end.
    private var waiting: [Hint]

    init(_ heads: SpaceHeads, _ subscription: Broadcast<SpaceHeads>.Subscription, spaces: Set<SpaceID>) {
        news = subscription.makeAsyncIterator()
        self.spaces = spaces
        waiting = Self.hints(heads, of: spaces)
    }

    /// The last to be given out first.
    private static func hints(_ heads: SpaceHeads, of spaces: Set<SpaceID>) -> [Hint] {
        heads.heads.filter { spaces.contains($0.key) }
            .map { Hint(space: $0.key, head: $0.value) }
            .sorted { $0.space > $1.space }
    }

    func next() async -> Hint? {
        while waiting.isEmpty {
            var iterator = news
            guard let heads = await iterator.next(isolation: self) else { return nil }
            news = iterator
            waiting = Self.hints(heads, of: spaces)
        }
        return waiting.popLast()
    }
}

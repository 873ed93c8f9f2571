import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

extension AuthorityEndpoint {
    /// Returns a stream of the newest versions of `spaces`, followed by hints about later commits.
    ///
    /// The stream ends when the authority stops announcing commits. Spaces that the principal may not read are left
    /// out. If the principal may read none of the spaces, the stream fails at once, as an HTTP server's would.
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        do throws(AuthorityError) {
            let readable = try authority.readable(among: spaces, by: principal)
            guard !readable.isEmpty else {
                let names = spaces.map(\.rawValue).joined(separator: ", ")
                return AsyncThrowingStream {
                    throw TransportError(
                        .forbidden, "none of these spaces exists, or you may not read them: \(names)")
                }
            }
            // The heads are read after the subscription starts, so that no commit is missed in between.
            let news = authority.commits.subscribe()
            let heads = try authority.heads(of: readable, for: principal, now: now())
            let source = HintSource(heads, news, spaces: Set(readable))
            return AsyncThrowingStream { await source.next() }
        } catch {
            let failure = TransportError(error)
            return AsyncThrowingStream { throw failure }
        }
    }
}

/// A source that splits an authority's announcements into hints. It supports one reader at a time.
private actor HintSource {
    private let spaces: Set<SpaceID>
    private var news: Broadcast<SpaceHeads>.Subscription.Iterator
    /// The hints of the last announcement, in reverse order.
    private var waiting: [Hint]

    init(_ heads: SpaceHeads, _ subscription: Broadcast<SpaceHeads>.Subscription, spaces: Set<SpaceID>) {
        news = subscription.makeAsyncIterator()
        self.spaces = spaces
        waiting = Self.hints(heads, of: spaces)
    }

    /// Returns the hints for these spaces in reverse order.
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

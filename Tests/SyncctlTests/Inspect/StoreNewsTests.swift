import SyncConcurrency
import SyncCore
import SyncModel
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.unit)) struct StoreNewsTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "a", fields: []), ModelSchema(collection: "b", fields: []),
    ])

    @Test func `each reader gets what has changed since its own number`() {
        var news = StoreNews()
        let start = news.latest
        #expect(news.parts(since: start, in: Self.catalog) == nil)
        news.note(StoreChange(extents: ["a": .all], addsToOutbox: true))
        let middle = news.latest
        news.note(StoreChange(extents: ["b": .all]))
        news.note(StoreChange())
        #expect(news.latest == middle + 1)
        #expect(
            news.parts(since: start, in: Self.catalog) == .init(collections: ["a", "b"], outbox: true, spaces: false))
        #expect(news.parts(since: middle, in: Self.catalog) == .init(collections: ["b"], outbox: false, spaces: false))
        #expect(news.parts(since: news.latest, in: Self.catalog) == nil)
        news.note(StoreChange(touchesSpaces: true))
        #expect(news.parts(since: middle + 1, in: Self.catalog) == .init(collections: [], outbox: false, spaces: true))
    }

    @Test func `a number of another run counts as everything`() {
        let news = StoreNews()
        for number in [Int64.min, 0, news.latest + 1, .max] {
            #expect(
                news.parts(since: number, in: Self.catalog)
                    == .init(collections: ["a", "b"], outbox: true, spaces: true))
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a wait ends with the next change, and with the end of the store`() async {
        let (feed, changes) = (StoreNewsFeed(), Broadcast<StoreChange>())
        let subscription = changes.subscribe()
        async let following: Void = feed.follow(subscription)
        let start = feed.current.latest
        await feed.wait(since: start) { _ in changes.publish(StoreChange(extents: ["a": .all])) }
        #expect(feed.current.parts(since: start, in: Self.catalog)?.collections == ["a"])
        await feed.wait(since: start) { _ in Issue.record("there is news already, so that nothing can end the wait") }
        await feed.wait(since: feed.current.latest) { end in
            end()
            end()
        }
        await feed.wait(since: feed.current.latest) { _ in changes.finish() }
        await following
        #expect(feed.current.isOver)
        await feed.wait(since: feed.current.latest) { _ in Issue.record("no change will come") }
    }
}

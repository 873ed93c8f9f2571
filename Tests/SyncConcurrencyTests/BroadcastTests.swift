import SyncConcurrency
import Testing

private struct Sum: Coalescing, Equatable {
    var value: Int

    mutating func absorb(_ later: Sum) {
        value += later.value
    }
}

@Suite struct BroadcastTests {
    @Test func `pending values of a slow subscriber are combined into one`() async {
        let feed = Broadcast<Sum>()
        var iterator = feed.subscribe().makeAsyncIterator()
        for value in 1...4 { feed.publish(Sum(value: value)) }
        #expect(await iterator.next() == Sum(value: 10))
        feed.publish(Sum(value: 5))
        #expect(await iterator.next() == Sum(value: 5))
    }

    @Test func `every subscriber gets all values published after it subscribed`() async {
        let feed = Broadcast<Sum>()
        var first = feed.subscribe().makeAsyncIterator()
        feed.publish(Sum(value: 1))
        var second = feed.subscribe().makeAsyncIterator()
        feed.publish(Sum(value: 2))
        #expect(await first.next() == Sum(value: 3))
        #expect(await second.next() == Sum(value: 2))
    }

    @Test func `a subscriber gets only the values that it wants`() async {
        let feed = Broadcast<Sum>()
        var even = feed.subscribe { $0.value.isMultiple(of: 2) }.makeAsyncIterator()
        for value in 1...4 { feed.publish(Sum(value: value)) }
        #expect(await even.next() == Sum(value: 6))
        feed.publish(Sum(value: 7))
        feed.finish()
        #expect(await even.next() == nil)
    }

    @Test func `a finished broadcast delivers pending values, ends, and accepts no new subscribers`() async {
        let feed = Broadcast<Sum>()
        var iterator = feed.subscribe().makeAsyncIterator()
        feed.publish(Sum(value: 1))
        feed.finish()
        #expect(await iterator.next() == Sum(value: 1))
        #expect(await iterator.next() == nil)
        var late = feed.subscribe().makeAsyncIterator()
        #expect(await late.next() == nil)
        #expect(feed.subscriberCount == 0)
    }

    @Test func `a deallocated subscriber is removed, even with pending values`() async {
        let feed = Broadcast<Sum>()
        do {
            let subscription = feed.subscribe()
            feed.publish(Sum(value: 1))
            #expect(feed.subscriberCount == 1)
            _ = subscription
        }
        #expect(feed.subscriberCount == 0)
    }

    @Test func `cancelling the task ends the iteration`() async {
        let feed = Broadcast<Sum>()
        let (received, receive) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var count = 0
            for await _ in feed.subscribe() {
                count += 1
                receive.yield()
            }
            return count
        }
        while feed.subscriberCount == 0 { await Task.yield() }
        feed.publish(Sum(value: 1))
        for await _ in received { break }
        task.cancel()
        #expect(await task.value == 1)
        #expect(feed.subscriberCount == 0)
    }
}

import NIOCore
import NIOEmbedded
import SyncAuthority
import SyncConcurrency
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct RequestBudgetTests {
    private static let ann = Principal(name: "ann")
    private static let ben = Principal(name: "ben")

    @Test func `the number of concurrent requests is limited separately for each principal`() {
        let budget = RequestBudget(limits: .init(requests: 2, streams: 1))
        let first = budget.reservation(for: Self.ann, .request)
        let second = budget.reservation(for: Self.ann, .request)
        #expect(first != nil && second != nil && budget.reservation(for: Self.ann, .request) == nil)
        let other = budget.reservation(for: Self.ben, .request)
        #expect(other != nil)
        // Streams are counted separately.
        let stream = budget.reservation(for: Self.ann, .stream)
        #expect(stream != nil && budget.reservation(for: Self.ann, .stream) == nil)
        first?.leave()
        first?.leave()
        let third = budget.reservation(for: Self.ann, .request)
        #expect(third != nil && budget.reservation(for: Self.ann, .request) == nil)
        for reservation in [second, third, other, stream] { reservation?.leave() }
        #expect(budget.isUnused)
    }

    @Test func `the bytes of bodies are limited per principal and in total, and are released`() throws {
        let budget = RequestBudget(limits: .init(bytes: 100, bytesOfAll: 150))
        let first = try #require(budget.reservation(for: Self.ann, .request))
        let second = try #require(budget.reservation(for: Self.ann, .request))
        let other = try #require(budget.reservation(for: Self.ben, .request))
        #expect(first.take(60) && second.take(40) && !second.take(1))
        #expect(other.take(50) && !other.take(1))
        first.releaseBody()
        #expect(other.take(50) && second.take(10) && !second.take(1))
        second.leave()
        #expect(!second.take(1))
        other.leave()
        first.leave()
        #expect(budget.isUnused)
    }

    @Test func `a reservation is released when it is deallocated`() {
        let budget = RequestBudget()
        do {
            let reservation = budget.reservation(for: Self.ann, .request)
            #expect(reservation?.take(10) == true && !budget.isUnused)
        }
        #expect(budget.isUnused)
    }
}

@Suite(.ring(.unit)) struct StoreHealthTests {
    private struct Failure: Error {}

    @Test func `health checks within one second share one query of the store`() async throws {
        let now = Guarded(NIODeadline.uptimeNanoseconds(0))
        let looks = Guarded(0)
        let loop = NIOAsyncTestingEventLoop()
        let health = StoreHealth(
            now: { now.withLock { $0 } },
            check: {
                let count = looks.withLock { looks in
                    looks += 1
                    return looks
                }
                return count == 1 ? loop.makeSucceededVoidFuture() : loop.makeFailedFuture(Failure())
            })
        for _ in 0..<100 { try await health.check() }
        #expect(looks.withLock { $0 } == 1)
        now.withLock { $0 = $0 + .seconds(1) }
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await health.check() } }
        #expect(looks.withLock { $0 } == 2)
        await loop.shutdownGracefully()
    }
}

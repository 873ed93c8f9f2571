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

    @Test(arguments: [(256, 64), (1_000_000, 64), (100, 25), (1, 1)])
    func `the streams and requests of a principal never take all connections of an address`(
        perAddress: Int, expected: Int
    ) {
        let budget = RequestBudget(connectionsPerAddress: perAddress)
        for kind in [RequestBudget.Kind.stream, .request] {
            let held = (0..<100).compactMap { _ in budget.reservation(for: Self.ann, kind) }
            #expect(held.count == expected)
            #expect(budget.reservation(for: Self.ben, kind) != nil)
        }
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
        let queries = Guarded(0)
        let loop = NIOAsyncTestingEventLoop()
        let health = StoreHealth(
            now: { now.withLock { $0 } },
            check: { _ in
                let count = queries.withLock { queries in
                    queries += 1
                    return queries
                }
                return count == 1 ? loop.makeSucceededVoidFuture() : loop.makeFailedFuture(Failure())
            })
        for _ in 0..<100 { try await health.check() }
        #expect(queries.withLock { $0 } == 1)
        now.withLock { $0 = $0 + .seconds(1) }
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await health.check() } }
        #expect(queries.withLock { $0 } == 2)
        await loop.shutdownGracefully()
    }

    @Test func `a store that does not answer in time is unhealthy`() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let silent = loop.makePromise(of: Void.self)
        let health = StoreHealth(now: { .uptimeNanoseconds(0) }, check: { _ in silent.futureResult })
        let hasEnded = Guarded(false)
        let answer = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await health.check()
        }
        // The timeout begins at some time after the call.
        while !hasEnded.withLock({ $0 }) {
            await loop.advanceTime(by: TimeAmount(SyncServerLimits.healthTimeout))
            await Task.yield()
        }
        await #expect(throws: StoreHealth.Silent.self) { try await answer.value }
        silent.succeed()
        await loop.shutdownGracefully()
    }

    @Test func `a store in which a call has found damage is unhealthy until a check of the whole store finds none`()
        async throws
    {
        let now = Guarded(NIODeadline.uptimeNanoseconds(0))
        let extents = Guarded<[StoreHealth.Extent]>([])
        let isDamaged = Guarded(true)
        let loop = NIOAsyncTestingEventLoop()
        let health = StoreHealth(
            now: { now.withLock { $0 } },
            check: { extent in
                extents.withLock { $0.append(extent) }
                return extent == .wholeStore && isDamaged.withLock { $0 }
                    ? loop.makeFailedFuture(Failure()) : loop.makeSucceededVoidFuture()
            })
        try await health.check()
        for _ in 0..<100 { health.damageFound() }
        // After damage was found, neither further reports of damage nor health checks read the store for ten seconds.
        for _ in 0..<100 { await #expect(throws: StoreHealth.DamageFound.self) { try await health.check() } }
        #expect(extents.withLock { $0 } == [.state])
        now.withLock { $0 = $0 + .seconds(10) }
        await #expect(throws: Failure.self) { try await health.check() }
        #expect(extents.withLock { $0 } == [.state, .wholeStore])
        isDamaged.withLock { $0 = false }
        await #expect(throws: StoreHealth.DamageFound.self) { try await health.check() }
        now.withLock { $0 = $0 + .seconds(10) }
        for _ in 0..<3 { try await health.check() }
        #expect(extents.withLock { $0 } == [.state, .wholeStore, .wholeStore, .state])
        await loop.shutdownGracefully()
    }

    @Test(arguments: [false, true])
    func `one check of the whole store runs at a time, however long it takes`(findsDamageMeanwhile: Bool) async throws {
        let now = Guarded(NIODeadline.uptimeNanoseconds(0))
        let extents = Guarded<[StoreHealth.Extent]>([])
        let loop = NIOAsyncTestingEventLoop()
        let whole = loop.makePromise(of: Void.self)
        let health = StoreHealth(
            now: { now.withLock { $0 } },
            check: { extent in
                extents.withLock { $0.append(extent) }
                return extent == .wholeStore ? whole.futureResult : loop.makeSucceededVoidFuture()
            })
        health.damageFound()
        now.withLock { $0 = $0 + .seconds(10) }
        let first = Task { try await health.check() }
        while extents.withLock({ $0.isEmpty }) { await Task.yield() }
        now.withLock { $0 = $0 + .minutes(10) }
        if findsDamageMeanwhile { health.damageFound() }
        for _ in 0..<3 { await #expect(throws: StoreHealth.DamageFound.self) { try await health.check() } }
        #expect(extents.withLock { $0 } == [.wholeStore])
        whole.succeed()
        if findsDamageMeanwhile {
            await #expect(throws: StoreHealth.DamageFound.self) { try await first.value }
            await #expect(throws: StoreHealth.DamageFound.self) { try await health.check() }
        } else {
            try await first.value
            try await health.check()
        }
        #expect(extents.withLock { $0 } == (findsDamageMeanwhile ? [.wholeStore] : [.wholeStore, .state]))
        await loop.shutdownGracefully()
    }
}

@Suite(.ring(.unit)) struct BodyAllowanceTests {
    private static let start = NIODeadline.uptimeNanoseconds(5)

    private static func at(_ milliseconds: Int64) -> NIODeadline { start + .milliseconds(milliseconds) }

    private static func allowance() -> BodyAllowance {
        BodyAllowance(timeout: .seconds(30), slowest: 1_000, now: start)
    }

    @Test func `a body of which nothing arrives expires after the timeout`() {
        #expect(!Self.allowance().isExpired(now: Self.at(29_999)))
        #expect(Self.allowance().isExpired(now: Self.at(30_000)))
    }

    @Test func `a body that drips expires although bytes keep arriving`() {
        var allowance = Self.allowance()
        var inTime: [Int64] = []
        for second in 1...60 as ClosedRange<Int64> {
            if allowance.arrived(1, now: Self.at(second * 1_000)) { inTime.append(second) }
        }
        #expect(inTime == Array(1...29))
    }

    @Test func `drops that arrive all at once are judged by the time of their arrival`() {
        var allowance = Self.allowance()
        var inTime = 0
        for _ in 0..<60 where allowance.arrived(1, now: Self.at(29_000)) { inTime += 1 }
        #expect(inTime == 60)
        let isInTime = allowance.arrived(1, now: Self.at(31_000))
        #expect(!isInTime)
    }

    @Test(arguments: [1, 7, 40])
    func `a body that arrives at the slowest allowed rate never expires`(step: Int64) {
        var allowance = Self.allowance()
        // Only whole seconds' worth of bytes extend the deadline, so each piece is a multiple of 1,000 bytes.
        for second in stride(from: 0, through: 100_000, by: Int(step)) {
            let pieces = Int(step) * 1_000
            let isInTime = allowance.arrived(pieces, now: Self.at(Int64(second) * 1_000))
            #expect(isInTime, "second \(second)")
        }
    }

    @Test func `each second's worth of bytes extends the deadline by a second`() {
        var allowance = Self.allowance()
        _ = allowance.arrived(2_999, now: Self.at(0))
        #expect(allowance.deadline == Self.at(32_000))
        #expect(allowance.allowed == .seconds(32))
    }

    @Test func `the timer expires without a byte, and later for bytes that have arrived`() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let timer = BodyTimer(BodyAllowance(timeout: .zero, slowest: 1, now: .now() - .seconds(1)), on: loop)
        await loop.advanceTime(by: .hours(1_000_000))
        #expect(try await timer.expires())
        timer.stop()

        let stopped = BodyTimer(BodyAllowance(timeout: .seconds(3_600), now: .now()), on: loop)
        #expect(stopped.arrived(5))
        stopped.stop()
        #expect(try await !stopped.expires())
        await loop.shutdownGracefully()
    }
}

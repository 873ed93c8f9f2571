import Testing

@testable import SyncCore

@Suite struct BackoffTests {
    private func delays(_ count: Int, retryAfter: Duration? = nil, draws: UInt64) -> [Duration] {
        var backoff = Backoff()
        var random: any RandomNumberGenerator = Fixed(number: draws)
        return (0..<count).map { _ in
            backoff.nextDelay(retryAfter: retryAfter, policy: BackoffPolicy(), random: &random)
        }
    }

    @Test func `the longest wait doubles with each failure up to the cap`() {
        #expect(delays(9, draws: .max) == [1, 2, 4, 8, 16, 32, 64, 120, 120].map { .seconds($0) })
    }

    @Test func `no wait is shorter than the floor`() {
        #expect(delays(9, draws: 1) == Array(repeating: BackoffPolicy().floor, count: 9))
    }

    @Test func `a success starts the waits over`() {
        var backoff = Backoff(failures: 7)
        backoff.reset()
        #expect(backoff == Backoff())
    }

    @Test func `a requested pause replaces the wait, plus a short random delay`() {
        #expect(delays(3, retryAfter: .seconds(90), draws: .max) == Array(repeating: .seconds(91), count: 3))
        #expect(delays(1, retryAfter: .seconds(90), draws: 1) == [.seconds(90) + BackoffPolicy().floor])
    }

    @Test func `a pause is granted up to its limit, and a pause of zero is none`() {
        #expect(delays(1, retryAfter: .seconds(90_000), draws: 1) == [.seconds(3_600) + BackoffPolicy().floor])
        #expect(delays(1, retryAfter: .zero, draws: .max) == [.seconds(1)])
        #expect(delays(1, retryAfter: .seconds(-5), draws: .max) == [.seconds(1)])
    }

    @Test func `thousands of failures neither overflow nor exceed the cap`() {
        var backoff = Backoff()
        var random: any RandomNumberGenerator = TestRandom(seed: 3)
        for _ in 0..<5_000 {
            let delay = backoff.nextDelay(retryAfter: nil, policy: BackoffPolicy(), random: &random)
            #expect(delay >= BackoffPolicy().floor && delay <= BackoffPolicy().cap)
        }
        #expect(backoff.failures == 64)
    }
}

private struct Fixed: RandomNumberGenerator {
    let number: UInt64

    mutating func next() -> UInt64 { number }
}

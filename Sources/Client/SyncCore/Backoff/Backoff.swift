/// How long to wait before the next try: grows with each failure, and starts again after a success.
package struct Backoff: Hashable, Sendable {
    package private(set) var failures: Int

    package init(failures: Int = 0) {
        self.failures = failures
    }

    /// Notes a failure and draws the wait.
    ///
    /// - Parameter retryAfter: what the server asked for. It wins over the drawn wait, which then only spreads the
    ///   herd behind it.
    mutating func nextDelay(
        retryAfter: Duration?, policy: BackoffPolicy, random: inout any RandomNumberGenerator
    ) -> Duration {
        let ceiling = min(policy.cap, policy.initial * Self.power(policy.factor, failures))
        failures = min(failures + 1, 64)
        let jitter = max(policy.floor, ceiling * Double.random(in: 0...1, using: &random))
        guard let retryAfter, retryAfter > .zero else { return jitter }
        return min(retryAfter, policy.longestRetryAfter) + min(jitter, policy.initial)
    }

    mutating func reset() {
        failures = 0
    }

    /// Bounded, so that a long row of failures does not overflow the ceiling.
    private static func power(_ factor: Double, _ exponent: Int) -> Double {
        var result = 1.0
        for _ in 0..<min(exponent, 64) where result < 1e9 { result *= factor }
        return result
    }
}

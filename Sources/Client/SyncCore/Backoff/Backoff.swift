/// A counter of failures that computes the wait before the next attempt.
///
/// The waits are random. Their upper bound grows with each failure and starts over after a success.
package struct Backoff: Hashable, Sendable {
    package private(set) var failures: Int

    package init(failures: Int = 0) {
        self.failures = failures
    }

    /// Counts a failure and returns a random wait.
    ///
    /// - Parameter retryAfter: The pause that the server asked for; nil or zero if it asked for none. The pause
    ///   replaces the random wait, up to `policy.longestRetryAfter`. A random time of at most `policy.initial` is
    ///   added, so that clients do not all return at the same moment.
    mutating func nextDelay(
        retryAfter: Duration?, policy: BackoffPolicy, random: inout any RandomNumberGenerator
    ) -> Duration {
        let ceiling = min(policy.cap, policy.initial * Self.power(policy.factor, failures))
        failures = min(failures + 1, 64)
        let jitter = max(policy.floor, ceiling * Double.random(in: 0...1, using: &random))
        guard let retryAfter, retryAfter > .zero else { return jitter }
        return min(retryAfter, policy.longestRetryAfter) + min(jitter, policy.initial)
    }

    /// Counts a failure without a wait.
    mutating func count() {
        failures = min(failures + 1, 64)
    }

    mutating func reset() {
        failures = 0
    }

    /// Returns the power, bounded so that a long series of failures does not overflow the ceiling.
    private static func power(_ factor: Double, _ exponent: Int) -> Double {
        var result = 1.0
        for _ in 0..<min(exponent, 64) where result < 1e9 { result *= factor }
        return result
    }
}

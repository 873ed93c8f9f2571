import NIOCore
import SyncAuthority
import SyncConcurrency

/// The rates at which a principal may send requests and transfer bytes of bodies.
///
/// Each rate is a token bucket that holds the use of ten seconds. A bucket is stored as the time at which it is full
/// again, so a full bucket needs no memory. Bytes are charged when they are known, after their request was admitted: a
/// principal that has used too many waits before its next request.
final class RequestRates: Sendable {
    /// The limits of one principal.
    struct Limits: Hashable, Sendable {
        /// Requests per second.
        var requests: Int
        /// Bytes of request and response bodies per second.
        var bytes: Int
    }

    /// The times at which the buckets of a principal are full again.
    private struct Use {
        var requests: NIODeadline
        var bytes: NIODeadline

        func isNone(at now: NIODeadline) -> Bool { requests <= now && bytes <= now }
    }

    private struct State {
        var uses: [Principal: Use] = [:]
        /// The number of uses at which those of idle principals are removed.
        var sweep = RequestRates.firstSweep

        mutating func set(_ use: Use, of principal: Principal, now: NIODeadline) {
            uses[principal] = use
            guard uses.count >= sweep else { return }
            uses = uses.filter { !$0.value.isNone(at: now) }
            sweep = max(RequestRates.firstSweep, uses.count * 2)
        }
    }

    private let limits: Limits
    private let now: @Sendable () -> NIODeadline
    private let state = Guarded(State())

    /// The length of the bucket: a principal that was idle may use this much at once.
    private static let burst = TimeAmount.seconds(10)
    private static let firstSweep = 1_024

    /// Creates rates of which nothing is used.
    ///
    /// - Parameter now: a monotonic clock.
    init(limits: Limits, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.limits = limits
        self.now = now
    }

    /// The number of principals whose use is in memory. For tests.
    var principals: Int { state.withLock { $0.uses.count } }

    /// Admits a request and charges it to its principal.
    ///
    /// - Returns: nil if the request may proceed; otherwise the time after which a request would be admitted, and
    ///   nothing is charged.
    func admit(_ principal: Principal) -> TimeAmount? {
        let now = now()
        let cost = Self.time(for: 1, at: limits.requests)
        return state.withLock { state in
            var use = state.uses[principal] ?? Use(requests: now, bytes: now)
            let full = max(use.requests, now) + cost
            let wait = max(full - now, use.bytes - now) - Self.burst
            guard wait <= .zero else { return wait }
            use.requests = full
            state.set(use, of: principal, now: now)
            return nil
        }
    }

    /// Charges bytes of a request or response body to a principal.
    func charge(_ bytes: Int, to principal: Principal) {
        let now = now()
        state.withLock { state in
            var use = state.uses[principal] ?? Use(requests: now, bytes: now)
            use.bytes = max(use.bytes, now) + Self.time(for: bytes, at: limits.bytes)
            state.set(use, of: principal, now: now)
        }
    }

    /// Returns the time in which a bucket regains an amount.
    private static func time(for amount: Int, at rate: Int) -> TimeAmount {
        .nanoseconds(Int64((Double(amount) / Double(rate) * 1e9).rounded(.up)))
    }
}

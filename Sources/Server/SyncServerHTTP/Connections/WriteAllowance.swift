import NIOCore

/// The time that a peer has to read the bytes that wait for it.
///
/// The peer has `timeout` from the moment at which bytes begin to wait. Every `slowest` bytes that the peer reads
/// extend the deadline by a second, but never to more than `timeout` from now. A peer that reads nothing, or a byte now
/// and then, therefore cannot hold a connection's memory for long.
struct WriteAllowance: Hashable, Sendable {
    private let timeout: TimeAmount
    private let slowest: Int
    private var deadline: NIODeadline?
    private var taken = 0

    enum Verdict: Hashable {
        /// No bytes are waiting.
        case rest
        case wait(until: NIODeadline)
        case close
    }

    init(
        timeout: TimeAmount = TimeAmount(SyncServerLimits.writeTimeout), slowest: Int = SyncServerLimits.slowestReader
    ) {
        self.timeout = timeout
        self.slowest = slowest
    }

    /// Updates the deadline from the progress, and returns what to do.
    ///
    /// - Parameters:
    ///   - taken: the number of bytes that the peer has taken since the connection began.
    ///   - waiting: the number of bytes that wait for the peer.
    mutating func update(taken total: Int, waiting: Int, now: NIODeadline) -> Verdict {
        let progress = total - taken
        taken = total
        guard waiting > 0 else {
            deadline = nil
            return .rest
        }
        guard let old = deadline else {
            deadline = now + timeout
            return .wait(until: now + timeout)
        }
        let earned = TimeAmount.nanoseconds(
            Int64(clamping: progress).multipliedClamping(by: 1_000_000_000) / Int64(slowest))
        let new = min(old + min(earned, timeout), now + timeout)
        deadline = new
        return new <= now ? .close : .wait(until: new)
    }
}

extension Int64 {
    fileprivate func multipliedClamping(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }
}

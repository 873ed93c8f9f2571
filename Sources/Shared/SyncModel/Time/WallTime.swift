/// The time of a wall clock: milliseconds since 1970-01-01T00:00:00Z.
///
/// Use it for stamps and for display, never to measure durations.
public struct WallTime: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before that.
    public let milliseconds: Int64

    /// Creates a time from the milliseconds since 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns the time after this duration, rounded toward zero to whole milliseconds. A negative duration goes back.
    /// The result is clamped to the range of `Int64`, because durations and clocks can come from outside.
    public func advanced(by duration: Duration) -> WallTime {
        WallTime(milliseconds: milliseconds.clampedSum(with: duration.wholeMilliseconds))
    }
}

extension Duration {
    /// This duration in milliseconds, rounded toward zero. A duration that exceeds `Int64` is clamped.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        if overflow { return seconds < 0 ? .min : .max }
        return product.clampedSum(with: attoseconds / 1_000_000_000_000_000)
    }
}

extension Int64 {
    /// Returns the sum, or the greatest or smallest value if it exceeds the range.
    fileprivate func clampedSum(with other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

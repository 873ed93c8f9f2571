/// The time of a wall clock: milliseconds since 1970-01-01T00:00:00Z.
///
/// Used for stamps and for display; never to measure how long something took.
public struct WallTime: Hashable, Comparable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: WallTime, right: WallTime) -> Bool {
        left.milliseconds < right.milliseconds
    }

    public func advanced(by duration: Duration) -> WallTime {
        WallTime(milliseconds: milliseconds + duration.wholeMilliseconds)
    }
}

extension Duration {
    /// This duration in milliseconds, rounded toward zero; the nearest `Int64` when it is too long.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        if overflow { return seconds < 0 ? .min : .max }
        return product + attoseconds / 1_000_000_000_000_000
    }
}

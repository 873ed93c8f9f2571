/// A reading of a hybrid logical clock: 48 bits of wall milliseconds, then a counter of 16 bits.
///
/// Later readings of one clock are greater, and a reading taken after hearing of another is greater than that one
/// (Kulkarni et al., "Logical Physical Clocks", 2014).
public struct HybridTime: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The largest wall time that 48 bits hold, in the year 10889.
    public static let latestWall = WallTime(milliseconds: 0xFFFF_FFFF_FFFF)

    public init(wall: WallTime, counter: UInt16 = 0) {
        let milliseconds = UInt64(min(max(wall.milliseconds, 0), Self.latestWall.milliseconds))
        rawValue = milliseconds << 16 | UInt64(counter)
    }

    public static let zero = HybridTime(rawValue: 0)

    public var wall: WallTime { WallTime(milliseconds: Int64(rawValue >> 16)) }

    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// The smallest reading that is greater; the same one at the end of time.
    public var next: HybridTime {
        rawValue == .max ? self : HybridTime(rawValue: rawValue + 1)
    }

    public static func < (left: HybridTime, right: HybridTime) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension HybridTime: CustomStringConvertible {
    public var description: String { "\(wall.milliseconds).\(counter)" }
}

/// A hybrid logical clock as a value: the wall time is an argument of each reading.
///
/// Readings grow as long as the wall clock does not go back further than what `heal` permits.
public struct HybridClock: Hashable, Sendable {
    /// The last reading given out or heard of.
    public private(set) var last: HybridTime

    public init(last: HybridTime = .zero) {
        self.last = last
    }

    /// A reading greater than all before, at `now` or, when the wall clock went back, just after the last one.
    public mutating func tick(now: WallTime) -> HybridTime {
        last = max(last.next, HybridTime(wall: now))
        return last
    }

    /// Goes back to `now` when the clock stands further in the future than twice `skew`: the wall clock was wrong, and has
    /// been set right. Without this, a device that was once in 2035 would stamp everything 2035 until then (I22).
    ///
    /// Twice, because the clocks it has heard may be ahead by one `skew`, and small corrections of the wall clock take another.
    ///
    /// - Returns: whether the clock went back. Everything stamped before was written no later than `now`.
    public mutating func heal(now: WallTime, permitting skew: Duration) -> Bool {
        guard last.wall > now.advanced(by: skew + skew) else { return false }
        last = HybridTime(wall: now)
        return true
    }

    /// Takes note of a reading made elsewhere, but never of one further than `skew` in the future: one bad clock
    /// must not drag all others along for years (I22).
    public mutating func observe(_ other: HybridTime, now: WallTime, permitting skew: Duration) {
        last = max(last, other.clamped(notAfter: now.advanced(by: skew)))
    }
}

extension HybridTime {
    /// This reading, or the last one of `limit` when it lies after that.
    public func clamped(notAfter limit: WallTime) -> HybridTime {
        wall <= limit ? self : HybridTime(wall: limit, counter: .max)
    }
}

/// When and where an edit was made: totally ordered, by time and then by client.
public struct Stamp: Hashable, Comparable, Sendable {
    public let time: HybridTime
    public let client: ClientID

    public init(time: HybridTime, client: ClientID) {
        self.time = time
        self.client = client
    }

    public static func < (left: Stamp, right: Stamp) -> Bool {
        left.time == right.time ? left.client < right.client : left.time < right.time
    }
}

/// A reading of a hybrid logical clock: 48 bits of wall-clock milliseconds, then a 16-bit counter.
///
/// Later readings of one clock are greater, and a reading that a clock takes after it has observed another clock's
/// reading is greater than that one (Kulkarni et al., "Logical Physical Clocks", 2014).
public struct HybridTime: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// The latest wall time of a reading, in the year 6429. A later reading would be negative in a database, whose
    /// integers are signed.
    public static let latestWall = WallTime(milliseconds: 0x7FFF_FFFF_FFFF)

    /// Creates a reading. Wall times before 1970 or after `latestWall` are clamped.
    public init(wall: WallTime, counter: UInt16 = 0) {
        let milliseconds = UInt64(min(max(wall.milliseconds, 0), Self.latestWall.milliseconds))
        rawValue = milliseconds << 16 | UInt64(counter)
    }

    /// The smallest reading, in 1970.
    public static let zero = HybridTime(rawValue: 0)

    /// The part in wall-clock time, in whole milliseconds.
    public var wall: WallTime { WallTime(milliseconds: Int64(rawValue >> 16)) }

    /// The part that orders readings of the same millisecond.
    public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    /// Returns how many milliseconds the wall clock of the machine that took the reading is ahead of `now`.
    ///
    /// A reading with a counter may be later than that clock, by up to twice `skew`, because the hybrid clock has
    /// observed others. It then does not replace a lead that it permits.
    ///
    /// - Parameter known: the lead according to an earlier reading; nil when there is none.
    public func lead(over now: WallTime, known: Int64?, permitting skew: Duration) -> Int64 {
        let lead = wall.milliseconds - now.milliseconds
        guard counter > 0, let known, (lead - 2 * skew.wholeMilliseconds...lead).contains(known) else { return lead }
        return known
    }

    /// The next greater reading; the same reading if there is none.
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

/// A hybrid logical clock as a value. Each reading takes the wall time as an argument.
///
/// Readings increase as long as the wall clock does not go back further than `correct` permits.
public struct HybridClock: Hashable, Sendable {
    /// The greatest reading that the clock has returned or observed.
    public private(set) var last: HybridTime

    /// Creates a clock whose first reading is greater than `last`.
    public init(last: HybridTime = .zero) {
        self.last = last
    }

    /// Returns a reading that is greater than `last`: `now`, or the next reading after `last` if `now` is not greater.
    public mutating func tick(now: WallTime) -> HybridTime {
        last = max(last.next, HybridTime(wall: now))
        return last
    }

    /// Sets the clock back to `now` if it is ahead of `now` by more than twice `skew`.
    ///
    /// In that case the wall clock was wrong and has been corrected. Without this step, a device whose clock was once
    /// set to 2035 would stamp everything with 2035 until that year (I22). The limit is twice `skew`, because the
    /// clocks that this one has observed may be ahead by one `skew`, and small corrections of the wall clock take
    /// another.
    ///
    /// - Returns: whether the clock was set back. If so, existing stamps may be later than `now`, although their edits
    ///   were made before it.
    public mutating func correct(now: WallTime, permitting skew: Duration) -> Bool {
        guard last.wall > now.advanced(by: skew + skew) else { return false }
        last = HybridTime(wall: now)
        return true
    }

    /// Advances the clock to a reading of another clock, but never further than `skew` ahead of `now`, so that one
    /// wrong clock cannot drag all others along for years (I22).
    public mutating func observe(_ other: HybridTime, now: WallTime, permitting skew: Duration) {
        last = max(last, other.clamped(notAfter: now.advanced(by: skew)))
    }
}

extension HybridTime {
    /// Returns this reading, or, if it is later than `limit`, the last reading of `limit`.
    public func clamped(notAfter limit: WallTime) -> HybridTime {
        wall <= limit ? self : HybridTime(wall: limit, counter: .max)
    }
}

/// The time and the client of an edit. Stamps are totally ordered, by time and then by client.
public struct Stamp: Hashable, Comparable, Sendable {
    /// The hybrid time of the edit; after a push, the one that the server assigned.
    public let time: HybridTime
    /// The client that made the edit. It decides between equal times.
    public let client: ClientID

    /// Creates a stamp without clamping the time.
    public init(time: HybridTime, client: ClientID) {
        self.time = time
        self.client = client
    }

    public static func < (left: Stamp, right: Stamp) -> Bool {
        left.time == right.time ? left.client < right.client : left.time < right.time
    }
}

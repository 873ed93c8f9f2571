/// A generator of random numbers that gives the same numbers for the same seed on every machine and in every build.
///
/// The algorithm is xoshiro256** (Blackman and Vigna, 2018), seeded by SplitMix64. It is not suitable for secrets.
public struct SeededRandom: RandomNumberGenerator, Hashable, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    public init(seed: UInt64) {
        var mixer = SplitMix64(state: seed)
        state = (mixer.next(), mixer.next(), mixer.next(), mixer.next())
    }

    /// Creates a separate stream of a seed. Draws from one stream do not affect another.
    ///
    /// - Parameter stream: the purpose of the numbers, such as `"network"`, `"workload"`, or `"device.phone"`.
    public init(seed: UInt64, stream: String) {
        var hash = StableHash()
        hash.combine(stream)
        var mixer = SplitMix64(state: seed)
        self.init(seed: mixer.next() ^ hash.value)
    }

    public mutating func next() -> UInt64 {
        let result = Self.rotate(state.1 &* 5, by: 7) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = Self.rotate(state.3, by: 45)
        return result
    }

    private static func rotate(_ word: UInt64, by count: UInt64) -> UInt64 {
        word << count | word >> (64 - count)
    }

    public static func == (left: SeededRandom, right: SeededRandom) -> Bool {
        left.state == right.state
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(state.0)
        hasher.combine(state.1)
        hasher.combine(state.2)
        hasher.combine(state.3)
    }
}

extension SeededRandom {
    /// Returns a number from 0 up to, but not including, `bound`; 0 when `bound` is not positive.
    ///
    /// The standard library's `random(in:)` is not used: its algorithm may change with the toolchain, which would
    /// change the meaning of every seed. The bias of the multiplication is below 2⁻³² for the bounds used here.
    public mutating func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    public mutating func within(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.upperBound - range.lowerBound + 1)
    }

    /// Returns a number from 0 up to, but not including, 1.
    public mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Returns true with the given probability. It always draws a number, so that a rate of 0 does not shift later
    /// numbers.
    public mutating func chance(_ probability: Double) -> Bool {
        fraction() < probability
    }

    /// Returns one of `choices`; nil when there are none.
    public mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element? {
        choices.isEmpty ? nil : choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }

    /// Returns a duration in the range, in whole microseconds.
    public mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let span = (range.upperBound - range.lowerBound) / Duration.microseconds(1)
        return range.lowerBound + .microseconds(Int64(fraction() * (span + 1)))
    }
}

/// The generator that seeds other generators (Steele, Lea and Flood, 2014).
struct SplitMix64: Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

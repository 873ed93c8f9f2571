/// A generator of random numbers that gives the same numbers for the same seed, on every machine and in every build.
///
/// It is xoshiro256** (Blackman and Vigna, 2018), its state filled by SplitMix64. Not for secrets.
public struct SeededRandom: RandomNumberGenerator, Hashable, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    public init(seed: UInt64) {
        var mixer = SplitMix64(state: seed)
        state = (mixer.next(), mixer.next(), mixer.next(), mixer.next())
    }

    /// A stream of its own under `seed`: a draw from one stream does not shift another.
    ///
    /// - Parameter stream: what the numbers are for: `"network"`, `"workload"`, `"device.phone"`.
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
    /// A number from 0 up to, not including, `bound`; 0 when `bound` is not positive.
    ///
    /// Not the standard library's `random(in:)`, whose algorithm may change with the toolchain and with it the meaning
    /// of every seed. The bias of the multiplication is below 2⁻³² for the bounds used here.
    public mutating func below(_ bound: Int) -> Int {
        bound <= 1 ? 0 : Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    public mutating func within(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.upperBound - range.lowerBound + 1)
    }

    /// A number from 0 up to, not including, 1.
    public mutating func fraction() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// True in `probability` of all calls. Always draws, so that a rate of 0 does not shift the numbers after it.
    public mutating func chance(_ probability: Double) -> Bool {
        fraction() < probability
    }

    /// One of `choices`; nil when there are none.
    public mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element? {
        choices.isEmpty ? nil : choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }

    /// A duration between the bounds, in whole microseconds.
    public mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let span = (range.upperBound - range.lowerBound) / Duration.microseconds(1)
        return range.lowerBound + .microseconds(Int64(fraction() * (span + 1)))
    }
}

/// The generator that fills the state of others (Steele, Lea and Flood, 2014).
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

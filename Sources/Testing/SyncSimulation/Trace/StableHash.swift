/// A 64-bit FNV-1a hash. Unlike `Hasher`, it gives the same value for the same bytes in every process.
public struct StableHash: Hashable, Sendable {
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    public init() {}

    public mutating func combine(byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    /// Adds the bytes of a text and an end mark of 8 bytes, so that "ab", "c" and "a", "bc" differ.
    public mutating func combine(_ text: String) {
        for byte in text.utf8 { combine(byte: byte) }
        combine(0xFF)
    }

    public mutating func combine(_ number: some FixedWidthInteger) {
        var bits = UInt64(truncatingIfNeeded: number)
        for _ in 0..<8 {
            combine(byte: UInt8(truncatingIfNeeded: bits))
            bits >>= 8
        }
    }
}

/// Random changes to valid inputs, which depend only on the seed.
struct Mutation {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Returns the bytes with 1 to 4 changes: bits, bytes, cuts, repetitions, and pieces of another input.
    mutating func changed(_ bytes: [UInt8], beside other: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...number(below: 4) {
            let place = number(below: bytes.count + 1)
            switch number(below: 6) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(number(below: 8))
            case 1 where place < bytes.count: bytes[place] = Self.interesting[number(below: Self.interesting.count)]
            case 2: bytes.insert(UInt8(number(below: 256)), at: place)
            case 3: bytes.removeLast(number(below: bytes.count - place + 1))
            case 4: bytes.insert(contentsOf: bytes[place...].prefix(number(below: 64)), at: place)
            default: bytes.replaceSubrange(place..., with: other.suffix(number(below: other.count + 1)))
            }
        }
        return bytes
    }

    /// Bytes with a special meaning in texts, and bytes at the ends of ranges.
    private static let interesting: [UInt8] = [0, 0x7F, 0x80, 0xC0, 0xFF] + Array("\"\\{}[],:.-09eE\n\r @#".utf8)

    /// Returns the next number of a SplitMix64 generator.
    private mutating func number(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(limit))
    }
}

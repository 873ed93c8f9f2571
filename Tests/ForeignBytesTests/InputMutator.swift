import SyncSimulation

/// Makes random changes of valid inputs, which depend only on the seed.
struct InputMutator {
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    /// Returns the bytes with 1 to 4 changes: bits, bytes, cuts, repetitions, and pieces of another input.
    mutating func changed(_ bytes: [UInt8], beside other: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...random.below(4) {
            let place = random.below(bytes.count + 1)
            switch random.below(6) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1 where place < bytes.count: bytes[place] = Self.interesting[random.below(Self.interesting.count)]
            case 2: bytes.insert(UInt8(random.below(256)), at: place)
            case 3: bytes.removeLast(random.below(bytes.count - place + 1))
            case 4: bytes.insert(contentsOf: bytes[place...].prefix(random.below(64)), at: place)
            default: bytes.replaceSubrange(place..., with: other.suffix(random.below(other.count + 1)))
            }
        }
        return bytes
    }

    /// Bytes with a special meaning in texts, and bytes at the ends of ranges.
    private static let interesting: [UInt8] = [0, 0x7F, 0x80, 0xC0, 0xFF] + Array("\"\\{}[],:.-09eE\n\r @#".utf8)
}

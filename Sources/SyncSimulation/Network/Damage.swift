/// What can happen to bytes on their way.
enum Damage: Hashable, Sendable {
    /// Bits of one byte are flipped; the place is a fraction of the length.
    case flip(at: Double, mask: UInt8)
    /// The end is missing.
    case cut(at: Double)
    /// A captive portal answers instead.
    case page
    case empty

    /// Always draws the same numbers; nil in all but `rate` of the cases.
    static func drawn(_ random: inout SeededRandom, rate: Double) -> Damage? {
        let happens = random.chance(rate)
        let place = random.fraction()
        let mask = UInt8(truncatingIfNeeded: 1 << random.below(8))
        let kind = random.below(4)
        guard happens else { return nil }
        return switch kind {
        case 0: .flip(at: place, mask: mask)
        case 1: .cut(at: place)
        case 2: .page
        default: .empty
        }
    }

    func apply(to bytes: inout [UInt8]) {
        switch self {
        case .flip(let place, let mask):
            guard !bytes.isEmpty else { return }
            bytes[min(Int(place * Double(bytes.count)), bytes.count - 1)] ^= mask
        case .cut(let place): bytes.removeLast(bytes.count - Int(place * Double(bytes.count)))
        case .page: bytes = Array("<html><head><title>Sign in</title></head><body>Welcome</body></html>".utf8)
        case .empty: bytes = []
        }
    }
}

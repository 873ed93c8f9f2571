/// The damage that bytes can take on their way.
enum Damage: Hashable, Sendable {
    /// One byte gets its highest bit, which no text that is read here has; the place is a fraction of the length.
    /// (Damage that makes other valid text is found by TLS, not by us.)
    case flip(at: Double)
    /// The end is missing.
    case cut(at: Double)
    /// A captive portal answers instead.
    case page
    case empty

    /// Always draws the same numbers; nil in all but `rate` of the cases.
    static func drawn(_ random: inout SeededRandom, rate: Double) -> Damage? {
        let happens = random.chance(rate)
        let place = random.fraction()
        let kind = random.below(4)
        guard happens else { return nil }
        return switch kind {
        case 0: .flip(at: place)
        case 1: .cut(at: place)
        case 2: .page
        default: .empty
        }
    }

    func apply(to bytes: inout [UInt8]) {
        switch self {
        case .flip(let place):
            guard !bytes.isEmpty else { return }
            bytes[min(Int(place * Double(bytes.count)), bytes.count - 1)] |= 0x80
        case .cut(let place): bytes.removeLast(bytes.count - Int(place * Double(bytes.count)))
        case .page: bytes = Array("<html><head><title>Sign in</title></head><body>Welcome</body></html>".utf8)
        case .empty: bytes = []
        }
    }
}

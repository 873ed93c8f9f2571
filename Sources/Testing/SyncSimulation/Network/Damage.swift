/// Damage to the bytes of a message in transit.
enum Damage: Hashable, Sendable {
    /// Flips the highest bit of one byte. The position is a fraction of the length.
    ///
    /// In the text of a message, the result is invalid UTF-8. Damage that produces other valid text is out of scope:
    /// TLS detects it.
    case flip(at: Double)
    /// Cuts off the end. The position is a fraction of the length.
    case cut(at: Double)
    /// Replaces the message with the page of a captive portal.
    case page
    case empty

    /// Draws the damage of one message; nil for no damage. A fraction `rate` of all messages is damaged.
    ///
    /// Every call draws the same count of numbers.
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

    /// Damages the bytes. Returns false if the damage changes nothing, as in an empty message.
    func apply(to bytes: inout [UInt8]) -> Bool {
        let before = bytes
        switch self {
        case .flip(let place):
            guard !bytes.isEmpty else { return false }
            bytes[min(Int(place * Double(bytes.count)), bytes.count - 1)] ^= 0x80
        case .cut(let place): bytes.removeLast(bytes.count - Int(place * Double(bytes.count)))
        case .page: bytes = Array("<html><head><title>Sign in</title></head><body>Welcome</body></html>".utf8)
        case .empty: bytes = []
        }
        return bytes != before
    }
}

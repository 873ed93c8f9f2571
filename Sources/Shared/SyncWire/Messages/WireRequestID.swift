/// The random name of one request, 16 to 64 hexadecimal digits.
package struct WireRequestID: RawRepresentable, Hashable, Sendable {
    /// The header that carries it.
    package static let header = "Tombolo-Request"

    package let rawValue: String

    /// Nil for a text of another form: a server repeats no arbitrary text of a client.
    package init?(rawValue: String) {
        guard (16...64).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.rawValue = rawValue
    }

    /// The id of 128 random bits.
    package init(high: UInt64, low: UInt64) {
        rawValue = Self.digits(high) + Self.digits(low)
    }

    private static func digits(_ bits: UInt64) -> String {
        let text = String(bits, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

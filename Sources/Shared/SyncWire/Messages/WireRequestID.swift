import SyncModel

/// The random id of one request: 16 to 64 lower-case hexadecimal digits.
package struct WireRequestID: RawRepresentable, Hashable, Sendable {
    /// The name of the header that contains the id.
    package static let header = "Tombolo-Request"

    package let rawValue: String

    /// Returns nil for any other text, so that a server does not repeat arbitrary text from a client.
    package init?(rawValue: String) {
        guard (16...64).contains(rawValue.utf8.count),
            rawValue.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.rawValue = rawValue
    }

    /// Creates an id from 128 random bits.
    package init(high: UInt64, low: UInt64) {
        rawValue = Hexadecimal.text(of: high) + Hexadecimal.text(of: low)
    }
}

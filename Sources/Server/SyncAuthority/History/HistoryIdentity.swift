import Crypto
public import SyncModel

/// The identity of the history that a database holds: its name, and the key that authenticates its cursors.
///
/// Both are generated together when a history begins. The key never leaves the database.
public struct HistoryIdentity: Hashable, Sendable {
    /// The name of the history, which clients see.
    public let epoch: Epoch
    /// The secret that authenticates the cursors of this history.
    public let key: HistoryKey

    /// Creates an identity from stored parts. `drawn(from:)` makes a new one.
    public init(epoch: Epoch, key: HistoryKey) {
        self.epoch = epoch
        self.key = key
    }

    /// Generates a name and a key that no other history has.
    public static func drawn(from random: inout some RandomNumberGenerator) -> HistoryIdentity {
        let epoch = Epoch(rawValue: String(random.next() as UInt64, radix: 36))
        return HistoryIdentity(
            epoch: epoch,
            key: HistoryKey(words: (random.next(), random.next(), random.next(), random.next())))
    }
}

/// The secret key of a history: 32 bytes. Its description reveals none of them.
public struct HistoryKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret, `byteCount` bytes long. It is stored only in the database.
    public let bytes: [UInt8]

    /// The length of every key, in bytes.
    public static let byteCount = 32

    /// Creates a key from exactly 32 bytes. Returns nil for any other number of bytes.
    public init?(bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Creates a key from four words, most significant byte first.
    public init(words: (UInt64, UInt64, UInt64, UInt64)) {
        let words = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
        bytes = withUnsafeBytes(of: words) { Array($0) }
    }

    /// Returns the first 16 bytes of the HMAC-SHA-256 of a text.
    func tag(of text: String) -> Identifier128 {
        Identifier128(
            digest: HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: bytes)))
    }

    public var description: String { "HistoryKey" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

import Crypto
import Foundation
public import SyncModel

/// Gives the same row of the same source the same record, each time and on each device.
///
/// The id is a UUIDv8 (RFC 9562 §5.8): SHA-256 over source, collection and key, cut to 128 bits. So a second import
/// finds what the first one made, also after a sync, on another device, or after the record got another name. The
/// other side of it: a record that was deleted stays deleted, because ids are never used again.
public struct RecordIdentity: Hashable, Sendable {
    /// Tells apart equal keys of different sources: two machines each have an account `root`.
    public let source: String

    public init(source: String) {
        self.source = source
    }

    public func record(_ collection: CollectionName, key: String) -> RecordID {
        var hash = SHA256()
        // Composed, as names are: two forms of one key are one record.
        for part in ["tombolo import 1", source, collection.rawValue, key].map(\.precomposedStringWithCanonicalMapping)
        {
            // The length first: no two lists of parts run into the same bytes.
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(part.utf8))
        }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (index, byte) in hash.finalize().prefix(16).enumerated() {
            if index < 8 {
                words.high = words.high << 8 | UInt64(byte)
            } else {
                words.low = words.low << 8 | UInt64(byte)
            }
        }
        return RecordID(
            bits: Identifier128(
                high: words.high & 0xFFFF_FFFF_FFFF_0FFF | 0x8000,
                low: words.low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000))
    }
}

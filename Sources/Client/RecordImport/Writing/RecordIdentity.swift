import Crypto
import Foundation
package import SyncModel

/// Derives the record id of an imported row, which is the same in each import and on each device.
///
/// The id is a UUIDv8 (RFC 9562 §5.8): SHA-256 over source, collection, and key, truncated to 128 bits. A second import
/// therefore finds the records of the first one, even on another device or after an edit of their fields. The drawback
/// is that a deleted record stays deleted, because ids are never reused.
package struct RecordIdentity: Hashable, Sendable {
    /// Distinguishes equal keys of different sources: two machines each have an account `root`.
    package let source: String

    package init(source: String) {
        self.source = source
    }

    /// Returns the id of the record for the row with this key.
    package func record(_ collection: CollectionName, key: String) -> RecordID {
        var hash = SHA256()
        // Normalize to NFC, as names are, so that two forms of one key are one record.
        for part in ["tombolo import 1", source, collection.rawValue, key].map(\.precomposedStringWithCanonicalMapping)
        {
            // Hash the length first, so that two different lists of parts never produce the same bytes.
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

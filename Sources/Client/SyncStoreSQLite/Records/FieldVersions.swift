import SyncModel

/// The versions of a record's fields in one small blob: one varint per field, in the order of the table's columns.
/// Builds that declare the fields in another order, or with a new field in between, read the same blobs.
enum FieldVersions {
    /// Returns the blob; nil when all fields have the record's own version.
    ///
    /// - Parameter order: the position in the model of each column.
    static func encode(_ record: Record, order: [Int]) -> [UInt8]? {
        record.fieldVersions.isEmpty ? nil : encode(record.fieldVersions, order: order)
    }

    /// Returns the blob of versions in the model's order.
    static func encode(_ versions: [Version], order: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(versions.count * 2)
        for position in order {
            var rest = UInt64(bitPattern: versions[position].rawValue)
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes
    }

    /// Returns the versions in the model's order; nil when the bytes are invalid. Fields that were added after the row
    /// was written get `version`.
    ///
    /// - Parameter order: the position in the model of each column.
    static func decode(_ bytes: UnsafeRawBufferPointer, order: [Int], version: Version) -> [Version]? {
        var versions = Array(repeating: version, count: order.count)
        var column = 0
        var value: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            guard shift < 64 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 != 0 {
                shift += 7
            } else {
                guard column < order.count else { return nil }
                versions[order[column]] = Version(Int64(bitPattern: value))
                column += 1
                value = 0
                shift = 0
            }
        }
        return shift == 0 ? versions : nil
    }
}

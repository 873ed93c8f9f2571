import SyncModel

/// The versions of a record's fields in one small blob: one varint per field, in column order.
enum FieldVersions {
    /// Returns the blob; nil when all fields have the record's own version.
    static func encode(_ record: Record) -> [UInt8]? {
        guard !record.fieldVersions.isEmpty else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(record.fieldVersions.count * 2)
        for version in record.fieldVersions {
            var rest = UInt64(bitPattern: version.rawValue)
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes
    }

    /// Returns the versions; nil when the bytes are invalid. Fields that were added after the row was written get
    /// `version`.
    static func decode(_ bytes: UnsafeRawBufferPointer, count: Int, version: Version) -> [Version]? {
        var versions: [Version] = []
        versions.reserveCapacity(count)
        var value: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            guard shift < 64 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 != 0 {
                shift += 7
            } else {
                versions.append(Version(Int64(bitPattern: value)))
                value = 0
                shift = 0
            }
        }
        guard shift == 0, versions.count <= count else { return nil }
        while versions.count < count { versions.append(version) }
        return versions
    }
}

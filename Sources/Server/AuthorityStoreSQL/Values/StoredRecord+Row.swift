import SyncAuthority
import SyncModel

extension StoredRecord {
    /// Reads a row with the columns `collection`, `id`, `uid`, `space`, `version`, `creation`, `deletion`, `fields`,
    /// `origins`, and `equal_edits`.
    init(_ row: some SQLCursor) throws(AuthorityStoreError) {
        let creation = try row.blob(5, "the creation in a row of record") { (reader) throws(AuthorityStoreError) in
            RecordCreation(origin: try reader.origin(), claimedTime: HybridTime(rawValue: try reader.number()))
        }
        self.init(
            address: RecordAddress(
                try CollectionName(stored: row.text(0), "the collection in a row of record"),
                RecordID(bits: try row.identifier(1, "the id in a row of record"))),
            uid: UID(row.integer(2)), space: try SpaceID(stored: row.text(3), "the space in a row of record"),
            version: Version(row.integer(4)), creation: creation,
            deletion: row.isNull(6) ? nil : try row.stamp(6, "the deletion in a row of record"),
            fields: try Self.fields(row, creation.origin))
    }

    private static func fields(
        _ row: some SQLCursor, _ creation: FieldOrigin
    ) throws(AuthorityStoreError) -> [StoredField] {
        let patch = try StoredText.patch(row, 7, "the fields in a row of record")
        let equalEdits = try row.blob(9, "the equal edits in a row of record", Self.equalEdits)
        return try row.blob(8, "the origins in a row of record") { (reader) throws(AuthorityStoreError) in
            let areAllAsCreated = reader.isAtEnd
            var fields: [StoredField] = []
            fields.reserveCapacity(patch.count)
            for (name, value) in patch {
                let origin = areAllAsCreated ? creation : try reader.origin()
                let equal = equalEdits[UInt64(fields.count)] ?? []
                fields.append(StoredField(name: name, value: value, origin: origin, equalEdits: equal))
            }
            return fields
        }
    }

    /// Returns the stamps of equal edits by the positions of their fields.
    private static func equalEdits(_ reader: inout BlobReader) throws(AuthorityStoreError) -> [UInt64: [Stamp]] {
        var stamps: [UInt64: [Stamp]] = [:]
        while !reader.isAtEnd {
            let position = try reader.number()
            stamps[position, default: []].append(try reader.stamp())
        }
        return stamps
    }

    var storedFields: Patch {
        var patch = Patch()
        for field in fields { patch.set(field.name, to: field.value) }
        return patch
    }

    var storedCreation: [UInt8] {
        var writer = BlobWriter(reserving: 48)
        writer.write(creation.origin)
        writer.write(creation.claimedTime.rawValue)
        return writer.bytes
    }

    var storedOrigins: [UInt8] {
        guard fields.contains(where: { $0.origin != creation.origin }) else { return [] }
        var writer = BlobWriter(reserving: fields.count * 40)
        for field in fields { writer.write(field.origin) }
        return writer.bytes
    }

    var storedEqualEdits: [UInt8] {
        var writer = BlobWriter(reserving: 0)
        for (position, field) in fields.enumerated() {
            for stamp in field.equalEdits {
                writer.write(UInt64(position))
                writer.write(stamp)
            }
        }
        return writer.bytes
    }
}

import SyncAuthority
import SyncModel

extension StoredRecord {
    /// The columns that `init` reads, in this order.
    static let columns = "collection, id, uid, space, version, creation, deletion, fields, origins, equal_edits"

    init(_ row: some SQLCursor) throws(AuthorityStoreError) {
        let what = "a row of record"
        var reader = BlobReader(row.bytes(5), "the creation in \(what)")
        let origin = try reader.origin()
        let creation = RecordCreation(origin: origin, claimedTime: HybridTime(rawValue: try reader.number()))
        try reader.end()
        let deletion: Stamp? =
            row.isNull(6) ? nil : try Stamp(stored: row.bytes(6), "the deletion in \(what)")
        self.init(
            address: RecordAddress(
                try CollectionName(stored: row.text(0), "the collection in \(what)"),
                RecordID(bits: try Identifier128(stored: row.bytes(1), "the id in \(what)"))),
            uid: UID(row.integer(2)), space: try SpaceID(stored: row.text(3), "the space in \(what)"),
            version: Version(row.integer(4)), creation: creation, deletion: deletion,
            fields: try Self.fields(
                try StoredText.patch(row.text(7), "the fields in \(what)"), row.bytes(8), row.bytes(9), creation.origin)
        )
    }

    private static func fields(
        _ patch: Patch, _ origins: [UInt8], _ equalEdits: [UInt8], _ creation: FieldOrigin
    ) throws(AuthorityStoreError) -> [StoredField] {
        let equalEdits = try Self.equalEdits(equalEdits)
        var reader = BlobReader(origins, "the origins in a row of record")
        let areAllAsCreated = reader.isAtEnd
        var fields: [StoredField] = []
        fields.reserveCapacity(patch.count)
        for (name, value) in patch {
            let origin = areAllAsCreated ? creation : try reader.origin()
            let equal = equalEdits[UInt64(fields.count)] ?? []
            fields.append(StoredField(name: name, value: value, origin: origin, equalEdits: equal))
        }
        try reader.end()
        return fields
    }

    /// Returns the stamps of equal edits by the positions of their fields.
    private static func equalEdits(_ bytes: [UInt8]) throws(AuthorityStoreError) -> [UInt64: [Stamp]] {
        var reader = BlobReader(bytes, "the equal edits in a row of record")
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

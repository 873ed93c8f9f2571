import SyncAuthority
import SyncModel

extension StoredRecord {
    /// The columns that `init` reads, in this order.
    static let columns = "collection, id, uid, space, version, creation, deletion, fields, origins"

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
                try StoredText.patch(row.text(7), "the fields in \(what)"), row.bytes(8), creation.origin))
    }

    private static func fields(
        _ patch: Patch, _ origins: [UInt8], _ creation: FieldOrigin
    ) throws(AuthorityStoreError) -> [StoredField] {
        var reader = BlobReader(origins, "the origins in a row of record")
        let areAllAsCreated = reader.isAtEnd
        var fields: [StoredField] = []
        fields.reserveCapacity(patch.count)
        for (name, value) in patch {
            let origin = areAllAsCreated ? creation : try reader.origin()
            fields.append(StoredField(name: name, value: value, origin: origin))
        }
        try reader.end()
        return fields
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
}

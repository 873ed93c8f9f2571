import SyncAuthority
import SyncModel

extension StoredRecord {
    /// Reads a row of `record` with the columns `id`, `uid`, `version`, `creation`, `deletion`, `fields`, `origins`,
    /// and `equal_edits`.
    init(
        _ row: some SQLCursor, of collection: CollectionName, in space: SpaceID
    ) throws(AuthorityStoreError) {
        let creation = try row.blob(3, "the creation in a row of record") { (reader) throws(AuthorityStoreError) in
            RecordCreation(origin: try reader.origin(), claimedTime: HybridTime(rawValue: try reader.number()))
        }
        self.init(
            address: RecordAddress(
                collection, RecordID(bits: try row.identifier(0, "the id in a row of record"))),
            uid: UID(row.integer(1)), space: space, version: Version(row.integer(2)), creation: creation,
            deletion: row.isNull(4) ? nil : try row.stamp(4, "the deletion in a row of record"),
            fields: try Self.fields(row, creation.origin))
    }

    /// Reads a row with the same columns, and then `space`.
    init(_ row: some SQLCursor, of collection: CollectionName) throws(AuthorityStoreError) {
        let space = try SpaceID(stored: row.text(8), "the space in a row of record")
        try self.init(row, of: collection, in: space)
    }

    private static func fields(
        _ row: some SQLCursor, _ creation: FieldOrigin
    ) throws(AuthorityStoreError) -> [StoredField] {
        var fields: [StoredField] = []
        var areInOrder = true
        try StoredText.patch(row, 5, "the fields in a row of record") { name, value in
            if let last = fields.last, last.name >= name { areInOrder = false }
            fields.append(StoredField(name: name, value: value, origin: creation))
        }
        guard areInOrder else {
            throw AuthorityStoreError(.corrupt, "the fields in a row of record are not in the order of their names")
        }
        try row.blob(6, "the origins in a row of record") { (reader) throws(AuthorityStoreError) in
            // All are as created.
            if reader.isAtEnd { return }
            for index in fields.indices { fields[index].origin = try reader.origin() }
        }
        try row.blob(7, "the equal edits in a row of record") { (reader) throws(AuthorityStoreError) in
            if reader.isAtEnd { return }
            for (position, stamps) in try equalEdits(&reader) where position < fields.count {
                fields[Int(position)].equalEdits = stamps
            }
        }
        return fields
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

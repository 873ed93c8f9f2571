import SyncJSON
package import SyncModel

/// Encodes rows of a snapshot from the text of their fields in a server's store, without making their values.
///
/// A value has the same form in the store and on the wire, so its text is only checked and copied.
package struct SnapshotRowsEncoder {
    private let schema: ModelSchema
    private var writer = JSONWriter(reserving: 16_384)
    private var count = 0
    private var last: RecordID?
    /// The place of each field's value in the text of the current row; nil if the row has no value for the field.
    private var places: [Range<Int>?]
    /// The version of each field in the current row.
    private var versions: [Version]

    package init(schema: ModelSchema) {
        self.schema = schema
        places = Array(repeating: nil, count: schema.fields.count)
        versions = Array(repeating: .zero, count: schema.fields.count)
        SnapshotRowsCoding.begin(schema.collection, schema.fields.map(\.name), in: &writer)
    }

    /// A row as the store has it.
    package struct Row {
        let id: RecordID
        let uid: UID
        let version: Version
        let creation: Version
        let origins: [Version]
        let fields: UnsafeBufferPointer<UInt8>

        /// - Parameters:
        ///   - creation: The version of the commit that created the record.
        ///   - origins: The version of each field that the text has, in its order. Empty if all are as created.
        ///   - fields: The text of the fields, in the order of their names. Used only during the call.
        package init(
            id: RecordID, uid: UID, version: Version, creation: Version, origins: [Version],
            fields: UnsafeBufferPointer<UInt8>
        ) {
            self.id = id
            self.uid = uid
            self.version = version
            self.creation = creation
            self.origins = origins
            self.fields = fields
        }
    }

    /// Adds a row, whose id comes after those of the rows before.
    ///
    /// - Returns: False if the row has a field that the schema does not have. The row is then not added.
    /// - Throws: `WireError` if the row is not one that a device would accept.
    package mutating func add(_ row: Row) throws(WireError) -> Bool {
        guard last.map({ $0 < row.id }) ?? true else {
            throw WireError(.unencodable, "record \(row.id) does not come after \(last?.description ?? "")")
        }
        guard row.uid.rawValue >= 0, (1...Version.largest.rawValue).contains(row.version.rawValue) else {
            throw WireError(.unencodable, "record \(row.id) has the uid \(row.uid.rawValue) and version \(row.version)")
        }
        guard try find(row) else { return false }
        guard versions.allSatisfy({ $0 <= row.version && $0 >= .zero }) else {
            throw WireError(.unencodable, "record \(row.id) has a field with a later version than its own")
        }
        writer.beginArray()
        writer.identifier(row.id.bits)
        writer.integer(row.uid.rawValue)
        writer.integer(row.version.rawValue)
        if versions.allSatisfy({ $0 == row.version }) {
            writer.null()
        } else {
            writer.beginArray()
            for version in versions { writer.integer(version.rawValue) }
            writer.endArray()
        }
        for place in places {
            if let place {
                writer.verbatim(UnsafeBufferPointer(rebasing: row.fields[place]))
            } else {
                writer.null()
            }
        }
        writer.endArray()
        count += 1
        last = row.id
        return true
    }

    /// Finds the values and the versions of a row's fields.
    ///
    /// - Returns: Whether the schema has all fields of the row.
    private mutating func find(_ row: Row) throws(WireError) -> Bool {
        for index in places.indices {
            places[index] = nil
            versions[index] = row.creation
        }
        var found = 0
        var isKnown = true
        try Message.read(row.fields, "the fields of a record") { (reader) throws(JSONError) in
            var walk = schema.walkByName()
            var members = try reader.beginSortedObject()
            while let key = try reader.nextKey(&members) {
                let start = reader.position
                if let name = key.plainBytes, let position = walk.position(of: name) {
                    let field = schema.fields[position].name
                    try FieldValueCoding.skip(
                        &reader, of: FieldPlace(collection: schema.collection, field: field))
                    places[position] = start..<reader.position
                    if found < row.origins.count { versions[position] = row.origins[found] }
                } else {
                    isKnown = false
                    try reader.skip()
                }
                found += 1
            }
        }
        guard row.origins.isEmpty || row.origins.count == found else {
            throw WireError(
                .unencodable, "record \(row.id) has \(found) fields, and origins of \(row.origins.count)")
        }
        return isKnown
    }

    /// Returns the rows that were added.
    package consuming func rows() -> SnapshotRows {
        SnapshotRowsCoding.end(in: &writer)
        let schema = schema
        return SnapshotRows(
            collection: schema.collection,
            encoded: EncodedRows(writer.bytes, count: count, lastRecord: last) { bytes in
                Self.records(in: bytes, of: schema)
            })
    }

    private static func records(in bytes: [UInt8], of schema: ModelSchema) -> [Record] {
        do throws(WireError) {
            return try Message.read(bytes, "rows of a snapshot") { (reader) throws(JSONError) in
                var newest = (version: Version.zero, offset: 0)
                return try SnapshotRowsCoding.read(
                    &reader, schema: { _ in schema }, checksTypes: false, newest: &newest
                ).records
            }
        } catch {
            // Each row was checked when it was added.
            preconditionFailure("rows that were encoded cannot be read: \(error)")
        }
    }
}

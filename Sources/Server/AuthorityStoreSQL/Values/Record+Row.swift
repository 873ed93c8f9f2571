import SyncAuthority
import SyncModel

extension Record {
    /// Reads a row of `record` with the columns `id`, `uid`, `version`, `creation`, `fields`, and `origins`, as clients
    /// see it.
    ///
    /// The same as a `StoredRecord` of the row, without what only the server needs.
    init(_ row: some SQLCursor, schema: ModelSchema) throws(AuthorityStoreError) {
        let version = Version(row.integer(2))
        let creation = try row.blob(3, "the creation in a row of record") { (reader) throws(AuthorityStoreError) in
            let origin = try reader.origin()
            _ = try reader.number()
            return origin.version
        }
        // Empty if no field has been edited since the creation.
        let origins = try Self.versions(inOrigins: row)
        var values = Array(repeating: FieldValue.null, count: schema.fields.count)
        var versions =
            origins.isEmpty && creation == version ? [] : Array(repeating: creation, count: schema.fields.count)
        var unknown = Patch()
        var count = 0
        try StoredText.fields(row, 4, of: schema) { field, value in
            switch field {
            case .known(let position):
                values[position] = value
                if count < origins.count { versions[position] = origins[count] }
            case .unknown(let name): unknown.set(name, to: value)
            }
            count += 1
        }
        guard origins.isEmpty || origins.count == count else {
            throw AuthorityStoreError(.corrupt, "a row of record has \(count) fields and \(origins.count) origins")
        }
        if versions.allSatisfy({ $0 == version }) { versions = [] }
        self.init(
            id: RecordID(bits: try row.identifier(0, "the id in a row of record")), uid: UID(row.integer(1)),
            version: version, values: values, fieldVersions: versions, unknown: unknown)
    }

    private static func versions(inOrigins row: some SQLCursor) throws(AuthorityStoreError) -> [Version] {
        try row.blob(5, "the origins in a row of record") { (reader) throws(AuthorityStoreError) in
            var versions: [Version] = []
            while !reader.isAtEnd { versions.append(try reader.origin().version) }
            return versions
        }
    }
}

import SyncAuthority
import SyncModel
import SyncWire

extension SnapshotRowsEncoder {
    /// Adds a row of `record` with the columns `id`, `uid`, `version`, `creation`, `fields`, and `origins`.
    ///
    /// - Returns: False if the row has a field that the schema does not have. The row is then not added.
    mutating func add(_ row: some SQLCursor) throws(AuthorityStoreError) -> Bool {
        let creation = try row.blob(3, "the creation in a row of record") { (reader) throws(AuthorityStoreError) in
            let origin = try reader.origin()
            _ = try reader.number()
            return origin.version
        }
        let origins = try row.blob(5, "the origins in a row of record") { (reader) throws(AuthorityStoreError) in
            var versions: [Version] = []
            while !reader.isAtEnd { versions.append(try reader.origin().version) }
            return versions
        }
        let id = RecordID(bits: try row.identifier(0, "the id in a row of record"))
        do throws(WireError) {
            return try row.withBytes(4) { (bytes) throws(WireError) in
                try add(
                    Row(
                        id: id, uid: UID(row.integer(1)), version: Version(row.integer(2)), creation: creation,
                        origins: origins, fields: bytes.assumingMemoryBound(to: UInt8.self)))
            }
        } catch {
            throw AuthorityStoreError(.corrupt, "a row of record cannot be read: \(error)")
        }
    }
}

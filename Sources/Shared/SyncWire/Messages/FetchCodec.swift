import SyncJSON
package import SyncModel

/// Codec for the request and response of a fetch, which reads one record directly from the server.
package enum FetchCodec {
    package static func encode(_ request: FetchRequest) -> [UInt8] {
        var writer = JSONWriter(reserving: 128)
        writer.beginObject()
        writer.member("space", request.space.rawValue)
        writer.member("collection", request.collection.rawValue)
        switch request.key {
        case .id(let id):
            writer.key("id")
            writer.identifier(id.bits)
        case .uid(let uid):
            writer.member("uid", uid.rawValue)
        }
        writer.endObject()
        return writer.bytes
    }

    package static func decodeRequest(_ bytes: [UInt8]) throws(WireError) -> FetchRequest {
        try Message.read(bytes, "fetch") { (reader) throws(JSONError) in
            var space: SpaceID?
            var collection: CollectionName?
            var recordKey: RecordKey?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "space": space = try reader.name()
                case "collection": collection = try reader.name()
                case "id", "uid":
                    guard recordKey == nil else { throw reader.content("expected one of id and uid", at: key.offset) }
                    if case "id" = key {
                        recordKey = .id(try reader.recordID())
                    } else {
                        recordKey = .uid(try reader.uid())
                    }
                default: try reader.unknown(key, .refusingUnknownKeys)
                }
            }
            guard let recordKey else { throw reader.content("one of id and uid is missing") }
            return FetchRequest(
                space: try reader.require(space, "space"), collection: try reader.require(collection, "collection"),
                key: recordKey)
        }
    }

    /// Encodes a record as the rows of a snapshot, with a single row.
    package static func encode(
        _ record: Record, of collection: CollectionName, catalog: SchemaCatalog
    ) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 512)
        try SnapshotRowsCoding.write(
            SnapshotRows(collection: collection, records: [record]), catalog: catalog, to: &writer)
        return writer.bytes
    }

    /// Decodes the response to `request`. Throws when it does not contain exactly the requested record.
    package static func decodeResponse(
        _ bytes: [UInt8], to request: FetchRequest, catalog: SchemaCatalog
    ) throws(WireError) -> Record {
        try Message.read(bytes, "response to fetch") { (reader) throws(JSONError) in
            var newest = (version: Version.zero, offset: 0)
            let rows = try SnapshotRowsCoding.read(&reader, catalog: catalog, newest: &newest)
            guard rows.collection == request.collection else {
                throw reader.content("expected a record of \(request.collection), found one of \(rows.collection)")
            }
            guard rows.records.count == 1, let record = rows.records.first else {
                throw reader.content("expected one record, found \(rows.records.count)")
            }
            let isRequested =
                switch request.key {
                case .id(let id): record.id == id
                case .uid(let uid): record.uid == uid
                }
            guard isRequested else { throw reader.content("the record is not the one requested") }
            return record
        }
    }
}

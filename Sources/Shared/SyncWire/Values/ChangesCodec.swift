import SyncJSON
package import SyncModel

/// Codec for the changes of one commit: `[{"collection":…,"id":…,"uid":…,"created":{…}}, …]`.
///
/// Each change contains only the fields that changed. On the wire the changes are part of a commit; in a server's store
/// they are a separate text.
package enum ChangesCodec {
    package static func encode(_ changes: [RecordChange]) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: changes.count * 128)
        try write(changes, to: &writer)
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(WireError) -> [RecordChange] {
        try bytes.withUnsafeBufferPointer { (bytes) throws(WireError) in try decode(bytes) }
    }

    package static func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(WireError) -> [RecordChange] {
        try Message.read(bytes, "changes") { (reader) throws(JSONError) in try read(&reader, catalog: nil) }
    }

    static func write(_ changes: [RecordChange], to writer: inout JSONWriter) throws(WireError) {
        writer.beginArray()
        for change in changes {
            writer.beginObject()
            writer.member("collection", change.collection.rawValue)
            writer.key("id")
            writer.identifier(change.id.bits)
            switch change.effect {
            case .created(let uid, let patch):
                writer.member("uid", uid.rawValue)
                writer.key("created")
                try PatchCodec.write(patch, of: change.collection, to: &writer)
            case .updated(let patch):
                writer.key("updated")
                try PatchCodec.write(patch, of: change.collection, to: &writer)
            case .deleted:
                writer.member("deleted", true)
            }
            writer.endObject()
        }
        writer.endArray()
    }

    /// Reads the changes of one commit.
    ///
    /// - Parameter catalog: the source of the types that values must have; nil to accept any type.
    static func read(_ reader: inout JSONReader, catalog: SchemaCatalog?) throws(JSONError) -> [RecordChange] {
        try reader.list { (reader) throws(JSONError) in try readChange(&reader, catalog: catalog) }
    }

    private enum Kind { case created, updated, deleted }

    private static func readChange(
        _ reader: inout JSONReader, catalog: SchemaCatalog?
    ) throws(JSONError) -> RecordChange {
        // Skips white space, so that errors point to the object.
        _ = try reader.kind()
        let start = reader.position
        var collection: CollectionName?
        var id: RecordID?
        var uid: UID?
        var kind: Kind?
        var patch = Patch()
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "id": id = try reader.recordID()
            case "uid": uid = try reader.uid()
            case "created", "updated", "deleted":
                guard kind == nil else {
                    throw reader.content("expected one of created, updated and deleted", at: key.offset)
                }
                switch key {
                case "created":
                    kind = .created
                    patch = try PatchCodec.read(&reader, of: collection)
                case "updated":
                    kind = .updated
                    patch = try PatchCodec.read(&reader, of: collection)
                default:
                    kind = .deleted
                    guard try reader.boolean() else { throw reader.content("expected true", at: key.offset) }
                }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        let name = try reader.require(collection, "collection")
        if let catalog { try ValueTypes.check(patch, of: name, catalog: catalog, at: start) }
        let effect: RecordChange.Effect
        switch kind {
        case .created?: effect = .created(uid: try reader.require(uid, "uid"), patch)
        case .updated?: effect = .updated(patch)
        case .deleted?: effect = .deleted
        case nil: throw reader.content("one of created, updated and deleted is missing", at: start)
        }
        return RecordChange(collection: name, id: try reader.require(id, "id"), effect: effect)
    }
}

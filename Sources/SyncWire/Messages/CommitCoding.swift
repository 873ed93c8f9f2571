import SyncJSON
import SyncModel

/// The commits of a page: `{"version":…,"changes":[…]}`, with the fields that changed and no others.
enum CommitCoding {
    static func write(_ commit: Commit, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.key("version")
        writer.integer(commit.version.rawValue)
        writer.key("changes")
        writer.beginArray()
        for change in commit.changes {
            writer.beginObject()
            writer.key("collection")
            writer.string(change.collection.rawValue)
            writer.key("id")
            writer.identifier(change.id.bits)
            switch change.effect {
            case .created(let uid, let patch):
                writer.key("uid")
                writer.integer(uid.rawValue)
                writer.key("created")
                try PatchCodec.write(patch, to: &writer)
            case .updated(let patch):
                writer.key("updated")
                try PatchCodec.write(patch, to: &writer)
            case .deleted:
                writer.key("deleted")
                writer.boolean(true)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    /// Reads commits whose versions must grow.
    static func readAll(
        _ reader: inout JSONReader, catalog: SchemaCatalog, newest: inout (version: Version, offset: Int)
    ) throws(JSONError) -> [Commit] {
        var commits: [Commit] = []
        var elements = try reader.beginArray()
        while try reader.nextElement(&elements) {
            let start = reader.position
            let commit = try readCommit(&reader, catalog: catalog)
            guard commit.version > newest.version else {
                throw reader.content(
                    "version \(commit.version) follows \(newest.version), a later one expected", at: start)
            }
            newest = (commit.version, start)
            commits.append(commit)
        }
        return commits
    }

    private static func readCommit(_ reader: inout JSONReader, catalog: SchemaCatalog) throws(JSONError) -> Commit {
        var version: Version?
        var changes: [RecordChange]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "version": version = try reader.committedVersion()
            case "changes":
                changes = try reader.list { (reader) throws(JSONError) in try readChange(&reader, catalog: catalog) }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return Commit(version: try reader.require(version, "version"), changes: try reader.require(changes, "changes"))
    }

    private enum Kind { case created, updated, deleted }

    private static func readChange(
        _ reader: inout JSONReader, catalog: SchemaCatalog
    ) throws(JSONError) -> RecordChange {
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
                    throw reader.content("one of created, updated and deleted expected", at: key.offset)
                }
                switch key {
                case "created":
                    kind = .created
                    patch = try PatchCodec.read(&reader)
                case "updated":
                    kind = .updated
                    patch = try PatchCodec.read(&reader)
                default:
                    kind = .deleted
                    guard try reader.boolean() else { throw reader.content("true expected", at: key.offset) }
                }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        let name = try reader.require(collection, "collection")
        try ValueTypes.check(patch, of: name, catalog: catalog, at: start)
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

/// Values that a server shows must have the types that this build declares: a store has typed columns.
enum ValueTypes {
    static func check(
        _ patch: Patch, of collection: CollectionName, catalog: SchemaCatalog, at offset: Int
    ) throws(JSONError) {
        guard let schema = catalog[collection] else { return }
        for (name, value) in patch {
            guard let field = schema.field(named: name) else { continue }
            try check(value, field, of: collection, at: offset)
        }
    }

    static func check(
        _ value: FieldValue, _ field: FieldSchema, of collection: CollectionName, at offset: Int
    ) throws(JSONError) {
        guard let found = value.type, found != field.type else { return }
        throw JSONError(
            .content, at: offset, "\(collection).\(field.name) holds \(field.type.rawValue), not \(found.rawValue)")
    }
}

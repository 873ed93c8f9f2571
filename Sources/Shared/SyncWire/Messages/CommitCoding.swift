import SyncJSON
import SyncModel

/// Coding of a page's commits: `{"version":…,"changes":[…]}`. Each change contains only the fields that changed.
enum CommitCoding {
    static func write(_ commit: Commit, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.member("version", commit.version.rawValue)
        writer.key("changes")
        try ChangesCodec.write(commit.changes, to: &writer)
        writer.endObject()
    }

    /// Reads commits, whose versions must increase.
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
                    "version \(commit.version) follows \(newest.version); expected a later one", at: start)
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
            case "changes": changes = try ChangesCodec.read(&reader, catalog: catalog)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return Commit(version: try reader.require(version, "version"), changes: try reader.require(changes, "changes"))
    }
}

/// Checks that values from a server have the types that this build declares, because a store has typed columns.
enum ValueTypes {
    static func check(
        _ patch: Patch, of collection: CollectionName, catalog: SchemaCatalog, at offset: Int
    ) throws(JSONError) {
        guard let schema = catalog[collection] else { return }
        for (name, value) in patch {
            guard let field = schema.field(named: name) else { continue }
            try check(value, field.type, name, of: collection, at: offset)
        }
    }

    static func check(
        _ value: FieldValue, _ type: FieldType, _ field: FieldName, of collection: CollectionName, at offset: Int
    ) throws(JSONError) {
        guard let found = value.type, found != type else { return }
        throw JSONError(
            .content, at: offset,
            "\(collection).\(field) is \(type.rawValue) in the models of this device, and the server sent \(found.rawValue)"
        )
    }
}

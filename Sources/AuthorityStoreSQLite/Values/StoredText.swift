import SyncAuthority
import SyncJSON
import SyncModel
import SyncWire

/// The JSON texts of the database, in the wire's form of values.
enum StoredText {
    static func encode(_ patch: Patch) throws(AuthorityStoreFailure) -> String {
        do throws(WireError) {
            return String(decoding: try PatchCodec.encode(patch), as: UTF8.self)
        } catch {
            throw AuthorityStoreFailure(.unstorable, "a value cannot be stored: \(error)")
        }
    }

    static func patch(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> Patch {
        do throws(WireError) {
            return try PatchCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    static func encode(_ outcome: Outcome) throws(AuthorityStoreFailure) -> String {
        do throws(WireError) {
            return String(decoding: try OutcomeCodec.encode(outcome), as: UTF8.self)
        } catch {
            throw AuthorityStoreFailure(.unstorable, "an outcome cannot be stored: \(error)")
        }
    }

    static func outcome(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> Outcome {
        do throws(WireError) {
            return try OutcomeCodec.decode(Array(text.utf8))
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
    }

    // MARK: The changes of a commit: [{"collection":…,"id":…,"uid":…,"created":{…}}, …]

    static func encode(_ changes: [RecordChange]) throws(AuthorityStoreFailure) -> String {
        var writer = JSONWriter(reserving: changes.count * 128)
        do throws(WireError) {
            writer.beginArray()
            for change in changes { try write(change, to: &writer) }
            writer.endArray()
        } catch {
            throw AuthorityStoreFailure(.unstorable, "a commit cannot be stored: \(error)")
        }
        return writer.text
    }

    private static func write(_ change: RecordChange, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.key("collection")
        writer.string(change.collection.rawValue)
        writer.key("id")
        writer.string(change.id.description)
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

    static func changes(_ text: String, _ what: String) throws(AuthorityStoreFailure) -> [RecordChange] {
        let changes: [RecordChange]?
        do throws(JSONError) {
            changes = try JSONReader.read(Array(text.utf8)) { (reader) throws(JSONError) -> [RecordChange]? in
                var result: [RecordChange] = []
                var elements = try reader.beginArray()
                while try reader.nextElement(&elements) {
                    guard let change = try readChange(&reader) else {
                        // The rest must be read all the same: the reader looks for the end.
                        while try reader.nextElement(&elements) { try reader.skip() }
                        return nil
                    }
                    result.append(change)
                }
                return result
            }
        } catch {
            throw AuthorityStoreFailure(.corrupt, "\(what) cannot be read: \(error)")
        }
        guard let changes else { throw AuthorityStoreFailure(.corrupt, "\(what) lacks the parts of a change") }
        return changes
    }

    private static func readChange(_ reader: inout JSONReader) throws(JSONError) -> RecordChange? {
        var collection: CollectionName?
        var id: RecordID?
        var uid: UID?
        var created: Patch?
        var effect: RecordChange.Effect?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = CollectionName(rawValue: try reader.string())
            case "id": id = RecordID(try reader.string())
            case "uid": uid = UID(try reader.integer())
            case "created": created = try PatchCodec.read(&reader)
            case "updated": effect = .updated(try PatchCodec.read(&reader))
            case "deleted": if try reader.boolean() { effect = .deleted }
            default: try reader.skip()
            }
        }
        if let created, let uid { effect = .created(uid: uid, created) }
        guard let collection, let id, let effect else { return nil }
        return RecordChange(collection: collection, id: id, effect: effect)
    }
}

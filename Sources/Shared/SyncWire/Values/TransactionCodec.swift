package import SyncJSON
package import SyncModel

/// Codec for the canonical form of a transaction: a fixed order of keys and no white space.
///
/// This form is hashed, stored, and sent.
package enum TransactionCodec {
    /// Encodes a transaction. Throws `unencodable` when a value has no form on the wire.
    package static func encode(_ transaction: Transaction) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: transaction.byteCount * 2)
        try write(transaction, to: &writer)
        return writer.bytes
    }

    /// Decodes a transaction with its keys in any order. Rejects unknown keys.
    ///
    /// - Parameter maximum: the maximum number of mutations; by default, that of a transaction on the wire.
    package static func decode(
        _ bytes: [UInt8], maximumMutations maximum: Int = SchemaLimits.mutationsPerTransaction
    ) throws(WireError) -> Transaction {
        try Message.read(bytes, "transaction") { (reader) throws(JSONError) in
            try read(&reader, maximumMutations: maximum)
        }
    }

    package static func write(_ transaction: Transaction, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.member("space", transaction.space.rawValue)
        writer.key("mutations")
        writer.beginArray()
        for mutation in transaction.mutations { try write(mutation, to: &writer) }
        writer.endArray()
        writer.endObject()
    }

    private static func write(_ mutation: Mutation, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.member("collection", mutation.collection.rawValue)
        writer.key("record")
        writer.identifier(mutation.record.bits)
        writer.key("time")
        writer.hybridTime(mutation.time)
        switch mutation.intent {
        case .create(let patch):
            writer.key("create")
            try PatchCodec.write(patch, of: mutation.collection, to: &writer)
        case .update(let edits):
            writer.key("update")
            writer.beginArray()
            for edit in edits { try write(edit, of: mutation.collection, to: &writer) }
            writer.endArray()
        case .delete(let seen, let unshown):
            writer.key("delete")
            writer.beginObject()
            writer.member("seen", seen.rawValue)
            if !unshown.isEmpty {
                writer.key("unshown")
                writer.beginArray()
                for field in unshown { writer.string(field.rawValue) }
                writer.endArray()
            }
            writer.endObject()
        }
        writer.endObject()
    }

    private static func write(
        _ edit: FieldEdit, of collection: CollectionName, to writer: inout JSONWriter
    ) throws(WireError) {
        let place = FieldPlace(collection: collection, field: edit.field)
        writer.beginObject()
        writer.member("field", edit.field.rawValue)
        writer.key("value")
        try FieldValueCoding.write(edit.value, of: place, to: &writer)
        writer.key("before")
        try FieldValueCoding.write(edit.before, of: place, to: &writer)
        writer.member("seen", edit.seen.rawValue)
        writer.endObject()
    }

    package static func read(
        _ reader: inout JSONReader, maximumMutations maximum: Int = SchemaLimits.mutationsPerTransaction
    ) throws(JSONError) -> Transaction {
        var space: SpaceID?
        var mutations: [Mutation]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "space": space = try reader.name()
            case "mutations":
                var count = 0
                mutations = try reader.list { (reader) throws(JSONError) in
                    count += 1
                    guard count <= maximum else {
                        throw reader.content("at most \(maximum) mutations in one transaction are allowed")
                    }
                    return try readMutation(&reader)
                }
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        return Transaction(
            space: try reader.require(space, "space"), mutations: try reader.require(mutations, "mutations"))
    }

    private static func readMutation(_ reader: inout JSONReader) throws(JSONError) -> Mutation {
        var collection: CollectionName?
        var record: RecordID?
        var time: HybridTime?
        var intent: Mutation.Intent?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "record": record = try reader.recordID()
            case "time": time = try reader.hybridTime()
            case "create", "update", "delete":
                guard intent == nil else {
                    throw reader.content("expected one of create, update and delete", at: key.offset)
                }
                intent = try readIntent(key, of: collection, &reader)
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        guard let intent else { throw reader.content("one of create, update and delete is missing") }
        return Mutation(
            collection: try reader.require(collection, "collection"), record: try reader.require(record, "record"),
            time: try reader.require(time, "time"), intent: intent)
    }

    private static func readIntent(
        _ key: JSONKey, of collection: CollectionName?, _ reader: inout JSONReader
    ) throws(JSONError) -> Mutation.Intent {
        switch key {
        case "create": .create(try PatchCodec.read(&reader, of: collection))
        case "update": .update(try readEdits(&reader, of: collection))
        default: try readDelete(&reader)
        }
    }

    /// Reads the edits of an update, at most one for each field. If an update had two edits of one field, the journal
    /// would keep both, but only the last would be checked.
    private static func readEdits(
        _ reader: inout JSONReader, of collection: CollectionName?
    ) throws(JSONError) -> [FieldEdit] {
        var fields: Set<FieldName> = []
        return try reader.list { (reader) throws(JSONError) in
            let edit = try readEdit(&reader, of: collection)
            guard fields.insert(edit.field).inserted else {
                throw reader.content("field \(edit.field) is edited twice in one update")
            }
            guard fields.count <= WireLimits.columns else {
                throw reader.content("at most \(WireLimits.columns) fields of one record are allowed")
            }
            return edit
        }
    }

    private static func readEdit(
        _ reader: inout JSONReader, of collection: CollectionName?
    ) throws(JSONError) -> FieldEdit {
        var field: FieldName?
        var value: FieldValue?
        var before: FieldValue?
        var seen: Version?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "field": field = try reader.name()
            case "value":
                value = try FieldValueCoding.read(&reader, of: FieldPlace(collection: collection, field: field))
            case "before":
                before = try FieldValueCoding.read(&reader, of: FieldPlace(collection: collection, field: field))
            case "seen": seen = try reader.version()
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        return FieldEdit(
            field: try reader.require(field, "field"), value: try reader.require(value, "value"),
            before: try reader.require(before, "before"), seen: try reader.require(seen, "seen"))
    }

    private static func readDelete(_ reader: inout JSONReader) throws(JSONError) -> Mutation.Intent {
        var seen: Version?
        var unshown: [FieldName] = []
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "seen": seen = try reader.version()
            case "unshown":
                var count = 0
                unshown = try reader.list { (reader) throws(JSONError) in
                    count += 1
                    guard count <= WireLimits.columns else {
                        throw reader.content("at most \(WireLimits.columns) fields of one record are allowed")
                    }
                    return try reader.name()
                }
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        return .delete(seen: try reader.require(seen, "seen"), unshown: unshown)
    }
}

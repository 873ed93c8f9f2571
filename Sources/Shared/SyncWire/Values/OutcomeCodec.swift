package import SyncJSON
package import SyncModel

/// Codec for the outcome of a transaction: `{"applied":{…}}` or `{"rejected":{…}}`.
package enum OutcomeCodec {
    package static func encode(_ outcome: Outcome) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        try write(outcome, to: &writer)
        return writer.bytes
    }

    /// Decodes an outcome. Ignores unknown keys, because a newer server may have written them.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Outcome {
        try bytes.withUnsafeBufferPointer { (bytes) throws(WireError) in try decode(bytes) }
    }

    package static func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(WireError) -> Outcome {
        try Message.read(bytes, "outcome", read)
    }

    package static func write(_ outcome: Outcome, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        switch outcome {
        case .applied(let version, let uids, let conflicts):
            writer.key("applied")
            writer.beginObject()
            writer.member("version", version.rawValue)
            if !uids.isEmpty {
                writer.key("uids")
                writer.beginArray()
                for uid in uids { write(uid, to: &writer) }
                writer.endArray()
            }
            if !conflicts.isEmpty {
                writer.key("conflicts")
                writer.beginArray()
                for conflict in conflicts { try FieldConflictCoding.write(conflict, to: &writer) }
                writer.endArray()
            }
            writer.endObject()
        case .rejected(let rejection):
            writer.key("rejected")
            write(rejection, to: &writer)
        }
        writer.endObject()
    }

    private static func write(_ uid: AssignedUID, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("collection", uid.collection.rawValue)
        writer.key("record")
        writer.identifier(uid.record.bits)
        writer.member("uid", uid.uid.rawValue)
        writer.endObject()
    }

    private static func write(_ rejection: Rejection, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("code", rejection.code.rawValue)
        writer.member("message", rejection.message)
        if let mutation = rejection.mutation { writer.member("mutation", mutation) }
        if !rejection.fields.isEmpty {
            writer.key("fields")
            writer.beginArray()
            for field in rejection.fields { writer.string(field.rawValue) }
            writer.endArray()
        }
        writer.endObject()
    }

    package static func read(_ reader: inout JSONReader) throws(JSONError) -> Outcome {
        var outcome: Outcome?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "applied", "rejected":
                guard outcome == nil else {
                    throw reader.content("expected one of applied and rejected", at: key.offset)
                }
                if case "applied" = key {
                    outcome = try readApplied(&reader)
                } else {
                    outcome = .rejected(try readRejection(&reader))
                }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        guard let outcome else { throw reader.content("one of applied and rejected is missing") }
        return outcome
    }

    private static func readApplied(_ reader: inout JSONReader) throws(JSONError) -> Outcome {
        var version: Version?
        var uids: [AssignedUID] = []
        var conflicts: [FieldConflict] = []
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "version": version = try reader.version()
            case "uids": uids = try reader.list(readUID)
            case "conflicts":
                conflicts = try reader.list(FieldConflictCoding.read)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return .applied(version: try reader.require(version, "version"), uids: uids, conflicts: conflicts)
    }

    private static func readUID(_ reader: inout JSONReader) throws(JSONError) -> AssignedUID {
        var collection: CollectionName?
        var record: RecordID?
        var uid: UID?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "record": record = try reader.recordID()
            case "uid": uid = try reader.uid()
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return AssignedUID(
            collection: try reader.require(collection, "collection"), record: try reader.require(record, "record"),
            uid: try reader.require(uid, "uid"))
    }

    private static func readRejection(_ reader: inout JSONReader) throws(JSONError) -> Rejection {
        var code: RejectionCode?
        var message: String?
        var mutation: Int?
        var fields: [FieldName] = []
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "code":
                code = RejectionCode(rawValue: try reader.text(bytes: WireLimits.opaqueBytes, "the code"))
            case "message": message = try reader.text(bytes: WireLimits.messageBytes, "the message")
            case "mutation": if try !reader.null() { mutation = try reader.count("the mutation's position") }
            case "fields": fields = try readFields(&reader)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return Rejection(
            code: try reader.require(code, "code"), message: try reader.require(message, "message"), mutation: mutation,
            fields: fields)
    }

    private static func readFields(_ reader: inout JSONReader) throws(JSONError) -> [FieldName] {
        let fields: [FieldName] = try reader.list { (reader) throws(JSONError) in try reader.name() }
        guard fields.count <= WireLimits.columns else {
            throw reader.content("\(fields.count) fields; a rejection names at most \(WireLimits.columns)")
        }
        return fields
    }
}

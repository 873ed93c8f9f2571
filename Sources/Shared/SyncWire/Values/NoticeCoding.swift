import SyncJSON
import SyncModel

/// Coding of conflict notices: the client's request for them, and the server's response.
enum NoticeCoding {
    // MARK: Request

    static func write(_ request: NoticeRequest, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("clients")
        writer.beginArray()
        for client in request.clients { writer.identifier(client.bits) }
        writer.endArray()
        writer.member("after", request.after)
        if let fingerprint = request.fingerprint {
            writer.key("fingerprint")
            writer.identifier(fingerprint.bits)
        }
        writer.endObject()
    }

    static func readRequest(_ reader: inout JSONReader) throws(JSONError) -> NoticeRequest {
        var clients: [ClientID]?
        var after: Int64?
        var fingerprint: NoticeFingerprint?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "clients":
                var count = 0
                clients = try reader.list { (reader) throws(JSONError) in
                    count += 1
                    guard count <= SchemaLimits.formerClients + 1 else {
                        throw reader.content("at most \(SchemaLimits.formerClients + 1) client ids are allowed")
                    }
                    return try reader.clientID()
                }
            case "after": after = try reader.natural("the number of the last notice")
            case "fingerprint": fingerprint = NoticeFingerprint(bits: try reader.identifier())
            default: try reader.unknown(key, .refusingUnknownKeys)
            }
        }
        return NoticeRequest(
            clients: try reader.require(clients, "clients"), after: try reader.require(after, "after"),
            fingerprint: fingerprint)
    }

    // MARK: Response

    static func write(_ notice: ConflictNotice, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.member("number", notice.number)
        writer.member("version", notice.version.rawValue)
        if let fingerprint = notice.fingerprint {
            writer.key("fingerprint")
            writer.identifier(fingerprint.bits)
        }
        writer.key("conflict")
        try FieldConflictCoding.write(notice.conflict, to: &writer)
        writer.endObject()
    }

    /// Reads notices, whose numbers must increase.
    static func readAll(_ reader: inout JSONReader) throws(JSONError) -> [ConflictNotice] {
        var last: Int64 = 0
        return try reader.list { (reader) throws(JSONError) in
            _ = try reader.kind()
            let start = reader.position
            let notice = try read(&reader)
            guard notice.number > last else {
                throw reader.content("notice \(notice.number) follows \(last); expected a greater number", at: start)
            }
            last = notice.number
            return notice
        }
    }

    private static func read(_ reader: inout JSONReader) throws(JSONError) -> ConflictNotice {
        var number: Int64?
        var version: Version?
        var fingerprint: NoticeFingerprint?
        var conflict: FieldConflict?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "number": number = try reader.natural("the number of the notice")
            case "version": version = try reader.version()
            case "fingerprint": fingerprint = NoticeFingerprint(bits: try reader.identifier())
            case "conflict": conflict = try FieldConflictCoding.read(&reader)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return ConflictNotice(
            number: try reader.require(number, "number"), version: try reader.require(version, "version"),
            conflict: try reader.require(conflict, "conflict"), fingerprint: fingerprint)
    }
}

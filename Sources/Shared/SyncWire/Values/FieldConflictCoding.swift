import SyncJSON
import SyncModel

/// Coding of a conflict: the field, the base, and both sides of the conflict.
enum FieldConflictCoding {
    static func write(_ conflict: FieldConflict, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        writer.member("collection", conflict.collection.rawValue)
        writer.key("record")
        writer.identifier(conflict.record.bits)
        writer.member("field", conflict.field.rawValue)
        let place = FieldPlace(collection: conflict.collection, field: conflict.field)
        writer.key("base")
        try FieldValueCoding.write(conflict.base, of: place, to: &writer)
        writer.key("winner")
        try write(conflict.winner, of: place, to: &writer)
        writer.key("loser")
        try write(conflict.loser, of: place, to: &writer)
        writer.member("rule", conflict.rule.rawValue)
        writer.endObject()
    }

    private static func write(
        _ contender: Contender, of place: FieldPlace, to writer: inout JSONWriter
    ) throws(WireError) {
        writer.beginObject()
        writer.key("value")
        try FieldValueCoding.write(contender.value, of: place, to: &writer)
        writer.key("time")
        writer.hybridTime(contender.stamp.time)
        writer.key("client")
        writer.identifier(contender.stamp.client.bits)
        writer.member("account", ifAny: contender.account?.rawValue)
        writer.endObject()
    }

    static func read(_ reader: inout JSONReader) throws(JSONError) -> FieldConflict {
        var collection: CollectionName?
        var record: RecordID?
        var field: FieldName?
        var base: FieldValue?
        var winner: Contender?
        var loser: Contender?
        var rule: ConflictRule?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "record": record = try reader.recordID()
            case "field": field = try reader.name()
            case "base":
                base = try FieldValueCoding.read(&reader, of: FieldPlace(collection: collection, field: field))
            case "winner":
                winner = try readContender(&reader, of: FieldPlace(collection: collection, field: field))
            case "loser":
                loser = try readContender(&reader, of: FieldPlace(collection: collection, field: field))
            case "rule":
                rule = ConflictRule(rawValue: try reader.text(bytes: WireLimits.opaqueBytes, "the rule"))
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return FieldConflict(
            collection: try reader.require(collection, "collection"), record: try reader.require(record, "record"),
            field: try reader.require(field, "field"), base: try reader.require(base, "base"),
            winner: try reader.require(winner, "winner"), loser: try reader.require(loser, "loser"),
            rule: try reader.require(rule, "rule"))
    }

    private static func readContender(
        _ reader: inout JSONReader, of place: FieldPlace
    ) throws(JSONError) -> Contender {
        var value: FieldValue?
        var time: HybridTime?
        var client: ClientID?
        var account: AccountID?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "value": value = try FieldValueCoding.read(&reader, of: place)
            case "time": time = try reader.hybridTime()
            case "client": client = try reader.clientID()
            case "account": if try !reader.null() { account = try reader.account() }
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return Contender(
            value: try reader.require(value, "value"),
            stamp: Stamp(time: try reader.require(time, "time"), client: try reader.require(client, "client")),
            account: account)
    }
}

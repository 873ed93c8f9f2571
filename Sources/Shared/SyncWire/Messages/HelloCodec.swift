import SyncJSON
package import SyncModel

/// Codec for the server's description of itself.
package enum HelloCodec {
    package static func encode(_ hello: ServerHello) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        writer.beginObject()
        writer.key("protocol")
        writer.beginObject()
        writer.member("from", hello.protocolVersions.lowerBound)
        writer.member("to", hello.protocolVersions.upperBound)
        writer.endObject()
        writer.member("epoch", hello.epoch.rawValue)
        writer.member("account", hello.account.rawValue)
        writer.key("serverTime")
        writer.hybridTime(hello.serverTime)
        if let clock = hello.clock { writer.member("clock", clock.milliseconds) }
        writer.key("limits")
        writer.beginObject()
        writer.member("pushBytes", hello.limits.pushBytes)
        writer.member("pushTransactions", hello.limits.pushTransactions)
        writer.member("pageRows", hello.limits.pageRows)
        writer.endObject()
        if let models = hello.models { write(models, to: &writer) }
        writer.endObject()
        return writer.bytes
    }

    /// Writes the models ordered by name, so that a server's hello is always the same text.
    private static func write(_ models: ServerModels, to writer: inout JSONWriter) {
        writer.key("models")
        writer.beginObject()
        for (collection, fields) in models.fields.sorted(by: { $0.key < $1.key }) {
            writer.key(collection.rawValue)
            writer.beginArray()
            for field in fields.sorted() { writer.string(field.rawValue) }
            writer.endArray()
        }
        writer.endObject()
    }

    package static func decode(_ bytes: [UInt8]) throws(WireError) -> ServerHello {
        try Message.read(bytes, "hello", read)
    }

    private static func read(_ reader: inout JSONReader) throws(JSONError) -> ServerHello {
        var versions: ClosedRange<Int>?
        var epoch: Epoch?
        var account: AccountID?
        var serverTime: HybridTime?
        var clock: WallTime?
        var limits: ServerLimits?
        var models: ServerModels?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "protocol": versions = try readVersions(&reader)
            case "epoch": epoch = try reader.epoch()
            case "account": account = try reader.account()
            case "serverTime": serverTime = try reader.hybridTime()
            case "clock":
                let range = 0...HybridTime.latestWall.milliseconds
                clock = WallTime(milliseconds: try reader.integer(in: range, "the clock"))
            case "limits": limits = try readLimits(&reader)
            case "models": models = try readModels(&reader)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return ServerHello(
            protocolVersions: try reader.require(versions, "protocol"), epoch: try reader.require(epoch, "epoch"),
            account: try reader.require(account, "account"), serverTime: try reader.require(serverTime, "serverTime"),
            clock: clock, limits: try reader.require(limits, "limits"), models: models)
    }

    /// Reads the models. Skips invalid names: this build has no such collection or field, so it never asks for one.
    private static func readModels(_ reader: inout JSONReader) throws(JSONError) -> ServerModels {
        var models: [CollectionName: Set<FieldName>] = [:]
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            var fields: Set<FieldName> = []
            var elements = try reader.beginArray()
            while try reader.nextElement(&elements) {
                if let field = FieldName(rawValue: try reader.string()) { fields.insert(field) }
            }
            if let collection = CollectionName(rawValue: key.text) { models[collection] = fields }
        }
        return ServerModels(models)
    }

    private static func readVersions(_ reader: inout JSONReader) throws(JSONError) -> ClosedRange<Int> {
        var lowest: Int?
        var highest: Int?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "from": lowest = try reader.count("the lowest version")
            case "to": highest = try reader.count("the highest version")
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        let from = try reader.require(lowest, "from")
        let to = try reader.require(highest, "to")
        guard from <= to else { throw reader.content("the protocol versions from \(from) to \(to) are an empty range") }
        return from...to
    }

    private static func readLimits(_ reader: inout JSONReader) throws(JSONError) -> ServerLimits {
        var bytes: Int?
        var transactions: Int?
        var rows: Int?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "pushBytes": bytes = try reader.positive("the bytes of a push")
            case "pushTransactions": transactions = try reader.positive("the transactions of a push")
            case "pageRows": rows = try reader.positive("the rows of a page")
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return ServerLimits(
            pushBytes: try reader.require(bytes, "pushBytes"),
            pushTransactions: try reader.require(transactions, "pushTransactions"),
            pageRows: try reader.require(rows, "pageRows"))
    }
}

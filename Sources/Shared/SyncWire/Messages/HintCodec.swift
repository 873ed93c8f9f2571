import SyncJSON
package import SyncModel

/// Codec for a hint, the data of one server-sent event.
package enum HintCodec {
    package static func encode(_ hint: Hint) -> [UInt8] {
        var writer = JSONWriter(reserving: 64)
        writer.beginObject()
        writer.member("space", hint.space.rawValue)
        writer.member("head", hint.head.rawValue)
        writer.endObject()
        return writer.bytes
    }

    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Hint {
        try Message.read(bytes, "hint") { (reader) throws(JSONError) in
            var space: SpaceID?
            var head: Version?
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                switch key {
                case "space": space = try reader.name()
                case "head": head = try reader.version()
                default: try reader.unknown(key, .ignoringUnknownKeys)
                }
            }
            return Hint(space: try reader.require(space, "space"), head: try reader.require(head, "head"))
        }
    }
}

package import SyncJSON
package import SyncModel

/// Codec for new values of some fields: `{"<field>":<value>,…}`, ordered by field name.
package enum PatchCodec {
    package static func encode(_ patch: Patch) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        try write(patch, to: &writer)
        return writer.bytes
    }

    /// Decodes a patch with its fields in any order.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Patch {
        try Message.read(bytes, "patch", read)
    }

    package static func read(_ reader: inout JSONReader) throws(JSONError) -> Patch {
        var patch = Patch()
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            guard patch.count < WireLimits.columns else {
                throw reader.content("at most \(WireLimits.columns) fields of one record are allowed", at: key.offset)
            }
            let field: FieldName = try reader.name(key)
            patch.set(field, to: try FieldValueCoding.read(&reader))
        }
        return patch
    }

    package static func write(_ patch: Patch, to writer: inout JSONWriter) throws(WireError) {
        writer.beginObject()
        for (field, value) in patch {
            writer.key(field.rawValue)
            try FieldValueCoding.write(value, to: &writer)
        }
        writer.endObject()
    }
}

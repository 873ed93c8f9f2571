import SyncJSON
package import SyncModel

/// Codec for new values of some fields: `{"<field>":<value>,…}`, ordered by field name.
package enum PatchCodec {
    package static func encode(_ patch: Patch) throws(WireError) -> [UInt8] {
        var writer = JSONWriter(reserving: 256)
        try write(patch, of: nil, to: &writer)
        return writer.bytes
    }

    /// Decodes a patch with its fields in any order.
    package static func decode(_ bytes: [UInt8]) throws(WireError) -> Patch {
        try bytes.withUnsafeBufferPointer { (bytes) throws(WireError) in try decode(bytes) }
    }

    package static func decode(_ bytes: UnsafeBufferPointer<UInt8>) throws(WireError) -> Patch {
        try Message.read(bytes, "patch") { (reader) throws(JSONError) in try read(&reader, of: nil) }
    }

    /// Passes the fields of a patch to `body`, in the order of the text, without building a `Patch`.
    package static func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, each body: (FieldName, FieldValue) -> Void
    ) throws(WireError) {
        try Message.read(bytes, "patch") { (reader) throws(JSONError) in try read(&reader, of: nil, each: body) }
    }

    /// - Parameter collection: the collection of the fields; nil if the message has not named it yet.
    static func read(_ reader: inout JSONReader, of collection: CollectionName?) throws(JSONError) -> Patch {
        var patch = Patch()
        try read(&reader, of: collection) { patch.set($0, to: $1) }
        return patch
    }

    private static func read(
        _ reader: inout JSONReader, of collection: CollectionName?, each body: (FieldName, FieldValue) -> Void
    ) throws(JSONError) {
        var count = 0
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            guard count < WireLimits.columns else {
                throw reader.content("at most \(WireLimits.columns) fields of one record are allowed", at: key.offset)
            }
            count += 1
            let field: FieldName = try reader.name(key)
            let place = FieldPlace(collection: collection, field: field)
            body(field, try FieldValueCoding.read(&reader, of: place))
        }
    }

    /// - Parameter collection: the collection of the fields; nil if it is not known.
    static func write(
        _ patch: Patch, of collection: CollectionName?, to writer: inout JSONWriter
    ) throws(WireError) {
        writer.beginObject()
        for (field, value) in patch {
            writer.key(field.rawValue)
            try FieldValueCoding.write(value, of: FieldPlace(collection: collection, field: field), to: &writer)
        }
        writer.endObject()
    }
}

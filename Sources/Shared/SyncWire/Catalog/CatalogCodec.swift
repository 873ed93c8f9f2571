import SyncJSON
package import SyncModel

/// The models of an application as JSON: the file that `syncd --catalog` serves, and the form in which both stores remember the
/// models of their database. `Schemas/catalog` describes it.
package enum CatalogCodec {
    /// The version of the format. A build that adds a key or a type increments it, so that older builds can tell its
    /// models from damaged ones.
    static let format = 1

    /// Returns the JSON text: one line for each field, defaults left out, and a newline at the end.
    ///
    /// Equal catalogs have equal texts.
    package static func encode(_ catalog: SchemaCatalog) -> [UInt8] {
        let models = catalog.models.map { model in
            let fields = model.fields.map { "        \(text(of: $0))" }.joined(separator: ",\n")
            let rule = model.deleteRule == .deleteWins ? "" : "\n      \"onDelete\": \"\(model.deleteRule.rawValue)\","
            return """
                    {
                      "collection": "\(model.collection)",\(rule)
                      "fields": [\(fields.isEmpty ? "" : "\n\(fields)\n      ")]
                    }
                """
        }
        let list = models.isEmpty ? "" : "\n\(models.joined(separator: ",\n"))\n  "
        return Array("{\n  \"format\": \(format),\n  \"models\": [\(list)]\n}\n".utf8)
    }

    private static func text(of field: FieldSchema) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("name")
        writer.string(field.name.rawValue)
        writer.key("type")
        writer.string(field.type.rawValue)
        if let target = field.target {
            writer.key("target")
            writer.string(target.rawValue)
        }
        if field.isRequired {
            writer.key("required")
            writer.boolean(true)
        }
        if field.type.hasLength {
            if field.minimumBytes != 0 {
                writer.key("minimumBytes")
                writer.integer(field.minimumBytes)
            }
            if field.maximumBytes != SchemaLimits.textBytes {
                writer.key("maximumBytes")
                writer.integer(field.maximumBytes)
            }
        }
        if let rule = field.rule {
            writer.key("rule")
            writer.string(rule.name)
        }
        if field.mergeRule != .latestEdit {
            writer.key("merge")
            writer.string(field.mergeRule.rawValue)
        }
        switch field.bounds {
        case .integer(let range): writer.range(range) { $0.integer($1) }
        case .real(let range): writer.range(range) { $0.real($1) }
        case nil: break
        }
        switch field.defaultValue {
        case .boolean(let value): writer.defaultValue { $0.boolean(value) }
        case .integer(let value): writer.defaultValue { $0.integer(value) }
        case .real(let value): writer.defaultValue { $0.real(value) }
        case .text(let value), .json(let value): writer.defaultValue { $0.string(value) }
        // No default, or one that no model can declare.
        case .null, .reference: break
        }
        if field.isIndexed {
            writer.key("indexed")
            writer.boolean(true)
        }
        writer.endObject()
        return writer.text
    }

    /// Reads a catalog.
    ///
    /// - Parameter rule: returns the rule of a name; nil for a name that it does not know, which is an error.
    /// - Throws: `malformed`, with the place and what was expected.
    package static func decode(
        _ bytes: [UInt8], rule: (_ name: String) -> FieldRule?
    ) throws(WireError) -> SchemaCatalog {
        try Message.read(bytes, "catalog") { (reader) throws(JSONError) in
            var decoder = CatalogDecoder()
            return try decoder.catalog(&reader, rule)
        }
    }

    /// Whether the bytes are JSON of a newer format.
    package static func isNewer(_ bytes: [UInt8]) -> Bool {
        guard let value = try? JSONValue(bytes), case .integer(let format) = value["format"] else { return false }
        return format > Int64(Self.format)
    }

    /// Reads a catalog that a store of ours has written. Rules that this program does not have keep their names, and check nothing.
    package static func decodeStored(
        _ bytes: [UInt8], rule: (_ name: String) -> FieldRule? = { _ in nil }
    ) throws(WireError) -> SchemaCatalog {
        try decode(bytes) { name in rule(name) ?? FieldRule(name: name) { _ in nil } }
    }
}

extension FieldType {
    /// Whether values have a length in bytes that can be limited.
    var hasLength: Bool { self == .text || self == .json }
}

extension JSONWriter {
    fileprivate mutating func range<Bound>(_ range: ClosedRange<Bound>, _ write: (inout JSONWriter, Bound) -> Void) {
        key("minimum")
        write(&self, range.lowerBound)
        key("maximum")
        write(&self, range.upperBound)
    }

    fileprivate mutating func defaultValue(_ write: (inout JSONWriter) -> Void) {
        key("default")
        write(&self)
    }
}

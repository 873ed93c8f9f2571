import SyncJSON
package import SyncModel

/// Codec for the models of an application, as JSON.
///
/// `syncd --catalog` serves such a file, and both stores keep the models of their database in this format.
/// `Schemas/catalog` describes it.
package enum CatalogCodec {
    /// The version of the format. A build that adds a key or a type increments the version, so that older builds can
    /// distinguish newer models from damaged ones.
    static let format = 1

    /// Returns the JSON text: one line for each field, defaults left out, and a newline at the end.
    ///
    /// Equal catalogs have equal texts.
    ///
    /// - Throws: `unencodable`, with the field or the model, if the text could not be read again. A store that kept
    ///   such a text would not open again.
    package static func encode(_ catalog: SchemaCatalog) throws(WireError) -> [UInt8] {
        guard catalog.models.count <= CatalogDecoder.largestCount else {
            throw WireError(.unencodable, "more than \(CatalogDecoder.largestCount) collections")
        }
        for model in catalog.models {
            for field in model.fields {
                guard let problem = field.encodingProblem(in: model.collection) else { continue }
                throw WireError(.unencodable, problem)
            }
            if let problem = model.lengthProblem { throw WireError(.unencodable, problem) }
        }
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

    /// The format of an integer field with dates, as JSON Schema names it.
    static let dateFormat = "date-time"

    private static func text(of field: FieldSchema) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("name", field.name.rawValue)
        writer.member("type", field.type.rawValue)
        writer.member("target", ifAny: field.target?.rawValue)
        if field.isRequired { writer.member("required", true) }
        if field.type.hasLength {
            if field.minimumBytes != 0 {
                writer.member("minimumBytes", field.minimumBytes)
            }
            if field.maximumBytes != SchemaLimits.textBytes {
                writer.member("maximumBytes", field.maximumBytes)
            }
        }
        if let rule = field.rule {
            writer.member("rule", rule.name)
        }
        if field.mergeRule != .latestEdit {
            writer.member("merge", field.mergeRule.rawValue)
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
        if field.isIndexed { writer.member("indexed", true) }
        if field.isDate { writer.member("format", dateFormat) }
        writer.endObject()
        return writer.text
    }

    /// Reads a catalog.
    ///
    /// - Parameter rule: returns the rule with a name; nil for an unknown name, which is an error.
    /// - Throws: `malformed`, with the place and what was expected.
    package static func decode(
        _ bytes: [UInt8], rule: (_ name: String) -> FieldRule?
    ) throws(WireError) -> SchemaCatalog {
        try decode(bytes, CatalogDecoder(isStored: false), rule)
    }

    private static func decode(
        _ bytes: [UInt8], _ decoder: CatalogDecoder, _ rule: (_ name: String) -> FieldRule?
    ) throws(WireError) -> SchemaCatalog {
        try Message.read(bytes, "catalog") { (reader) throws(JSONError) in
            var decoder = decoder
            return try decoder.catalog(&reader, rule)
        }
    }

    /// Whether a text can be the default of a JSON field.
    static func isJSON(_ text: String) -> Bool {
        let read: Void? = try? JSONReader.read(Array(text.utf8)) { (reader) throws(JSONError) in try reader.skip() }
        return read != nil
    }

    /// Whether the bytes are JSON of a newer format.
    package static func isNewer(_ bytes: [UInt8]) -> Bool {
        guard let value = try? JSONValue(bytes), case .integer(let format) = value["format"] else { return false }
        return format > Int64(Self.format)
    }

    /// Reads a catalog that a Tombolo store wrote. An unknown rule keeps its name and accepts every value.
    ///
    /// Models whose records may be too long for a page, or whose values for a transaction, are read, so that their
    /// limits can be compared with shorter ones. No store opens with them, because `encode` refuses them.
    package static func decodeStored(
        _ bytes: [UInt8], rule: (_ name: String) -> FieldRule? = { _ in nil }
    ) throws(WireError) -> SchemaCatalog {
        try decode(bytes, CatalogDecoder(isStored: true)) { name in
            rule(name) ?? FieldRule(name: name) { _ in nil }
        }
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

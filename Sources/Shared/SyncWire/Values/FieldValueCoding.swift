import SyncJSON
import SyncModel

/// Coding of field values, which can be read without a schema.
///
/// The forms are `null`, `true`, `1`, `1.5` (a real always has a fraction or an exponent), `"text"`, `{"$ref":"<record
/// id>"}`, and `{"$json":<the value unchanged>}`. Negative zero is read and written as `0.0`.
enum FieldValueCoding {
    /// - Parameter place: the field of the value, which a message about it names.
    static func read(
        _ reader: inout JSONReader, of place: @autoclosure () -> FieldPlace
    ) throws(JSONError) -> FieldValue {
        switch try reader.kind() {
        case .null:
            _ = try reader.null()
            return .null
        case .boolean: return .boolean(try reader.boolean())
        case .string: return .text(try reader.string())
        case .object: return try readTagged(&reader, of: place())
        case .array: throw reader.content("an array value must be written as {\"$json\":…}")
        case .number:
            let start = reader.position
            switch try reader.number() {
            case .integer(let value): return .integer(value)
            case .real(let value): return FieldValue.real(value).canonical
            case .rounded: throw reader.content("an integer beyond 64 bits", at: start)
            }
        }
    }

    /// Checks a value as `read` does, without making it.
    static func skip(_ reader: inout JSONReader, of place: @autoclosure () -> FieldPlace) throws(JSONError) {
        switch try reader.kind() {
        case .null, .boolean, .string: try reader.skip()
        case .number, .object, .array: _ = try read(&reader, of: place())
        }
    }

    private static func readTagged(
        _ reader: inout JSONReader, of place: @autoclosure () -> FieldPlace
    ) throws(JSONError) -> FieldValue {
        let start = reader.position
        var members = try reader.beginObject()
        var value: FieldValue?
        while let key = try reader.nextKey(&members) {
            guard value == nil else { throw reader.content("expected one key, $ref or $json", at: key.offset) }
            switch key {
            case "$ref": value = .reference(try reader.recordID())
            case "$json":
                let text = try reader.verbatim()
                guard JSONNesting.depth(of: text.utf8) <= SchemaLimits.jsonDepth else {
                    throw reader.content(tooDeep("\(place())"), at: key.offset)
                }
                value = .json(text)
            default:
                throw reader.content("expected $ref or $json, found \(key.quoted)", at: key.offset)
            }
        }
        guard let value else { throw reader.content("expected {\"$ref\":…} or {\"$json\":…}", at: start) }
        return value
    }

    private static func tooDeep(_ place: String) -> String {
        "\(place): the JSON is nested too deeply: at most \(SchemaLimits.jsonDepth) levels are allowed"
    }

    /// - Parameter place: the field of the value, which a message about it names.
    static func write(
        _ value: FieldValue, of place: @autoclosure () -> FieldPlace, to writer: inout JSONWriter
    ) throws(WireError) {
        switch value.canonical {
        case .null: writer.null()
        case .boolean(let value): writer.boolean(value)
        case .integer(let value): writer.integer(value)
        case .real(let value):
            guard value.isFinite else {
                throw WireError(.unencodable, "\(place()): \(value) is not a finite number, and cannot be sent")
            }
            writer.real(value)
        case .text(let text): writer.string(text)
        case .reference(let id):
            writer.beginObject()
            writer.key("$ref")
            writer.identifier(id.bits)
            writer.endObject()
        case .json(let text):
            let bytes = Array(text.utf8)
            try check(json: bytes, of: "\(place())")
            writer.beginObject()
            writer.key("$json")
            writer.verbatim(bytes)
            writer.endObject()
        }
    }

    /// Checks the text of a JSON field. Text that is not JSON would change the structure of the message around it.
    private static func check(json bytes: [UInt8], of place: String) throws(WireError) {
        do throws(JSONError) {
            try JSONReader.read(bytes) { (reader) throws(JSONError) in try reader.skip() }
        } catch {
            throw WireError(.unencodable, "\(place): the value is not valid JSON: \(error)")
        }
        guard JSONNesting.depth(of: bytes) <= SchemaLimits.jsonDepth else {
            throw WireError(.unencodable, tooDeep(place))
        }
    }
}

/// The field that holds a value, for messages. A part is nil where the message has not named it yet.
struct FieldPlace: CustomStringConvertible {
    var collection: CollectionName?
    var field: FieldName?

    var description: String {
        let names = [collection?.rawValue, field?.rawValue].compactMap(\.self)
        return names.isEmpty ? "a field" : names.joined(separator: ".")
    }
}

import SyncJSON
import SyncModel

/// Coding of field values, which can be read without a schema.
///
/// The forms are `null`, `true`, `1`, `1.5` (a real always has a fraction or an exponent), `"text"`, `{"$ref":"<record
/// id>"}`, and `{"$json":<the value unchanged>}`. Negative zero is read and written as `0.0`.
enum FieldValueCoding {
    static func read(_ reader: inout JSONReader) throws(JSONError) -> FieldValue {
        switch try reader.kind() {
        case .null:
            _ = try reader.null()
            return .null
        case .boolean: return .boolean(try reader.boolean())
        case .string: return .text(try reader.string())
        case .object: return try readTagged(&reader)
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

    private static func readTagged(_ reader: inout JSONReader) throws(JSONError) -> FieldValue {
        let start = reader.position
        var members = try reader.beginObject()
        var value: FieldValue?
        while let key = try reader.nextKey(&members) {
            guard value == nil else { throw reader.content("expected one key, $ref or $json", at: key.offset) }
            switch key {
            case "$ref": value = .reference(try reader.recordID())
            case "$json":
                let text = try reader.verbatim()
                try checkDepth(of: text, at: key.offset)
                value = .json(text)
            default:
                throw reader.content("expected $ref or $json, found \(key.quoted)", at: key.offset)
            }
        }
        guard let value else { throw reader.content("expected {\"$ref\":…} or {\"$json\":…}", at: start) }
        return value
    }

    private static func checkDepth(of text: String, at offset: Int) throws(JSONError) {
        guard depth(of: text.utf8) <= WireLimits.jsonFieldDepth else {
            throw JSONError(
                .content, at: offset, "a JSON field may be nested \(WireLimits.jsonFieldDepth) deep; this one is deeper"
            )
        }
    }

    /// Returns the nesting depth of arrays and objects in a text that is valid JSON.
    private static func depth(of text: String.UTF8View) -> Int {
        var depth = 0
        var deepest = 0
        var isInString = false
        var isEscaped = false
        for byte in text {
            if isEscaped {
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString, UInt8(ascii: "[") where !isInString:
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "}") where !isInString, UInt8(ascii: "]") where !isInString: depth -= 1
            default: break
            }
        }
        return deepest
    }

    static func write(_ value: FieldValue, to writer: inout JSONWriter) throws(WireError) {
        switch value.canonical {
        case .null: writer.null()
        case .boolean(let value): writer.boolean(value)
        case .integer(let value): writer.integer(value)
        case .real(let value):
            guard value.isFinite else {
                throw WireError(.unencodable, "\(value) is not a finite number, and cannot be sent")
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
            try check(json: bytes)
            writer.beginObject()
            writer.key("$json")
            writer.verbatim(bytes)
            writer.endObject()
        }
    }

    /// Checks the text of a JSON field. Text that is not JSON would change the structure of the message around it.
    private static func check(json bytes: [UInt8]) throws(WireError) {
        do throws(JSONError) {
            try JSONReader.read(bytes) { (reader) throws(JSONError) in try reader.skip() }
            try checkDepth(of: String(decoding: bytes, as: UTF8.self), at: 0)
        } catch {
            throw WireError(.unencodable, "the value of a JSON field is not valid JSON: \(error)")
        }
    }
}

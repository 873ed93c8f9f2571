/// A JSON value as a tree, for code where convenience matters more than speed.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    case string(String)
    case array([JSONValue])
    /// The members in the order of the text. Their keys are unique.
    case object([Member])

    package struct Member: Hashable, Sendable {
        package let key: String
        package let value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    package init(_ bytes: [UInt8]) throws(JSONError) {
        self = try JSONReader.read(bytes) { (reader) throws(JSONError) in try JSONValue(&reader) }
    }

    package init(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .null:
            _ = try reader.null()
            self = .null
        case .boolean: self = .boolean(try reader.boolean())
        case .number:
            switch try reader.number() {
            case .integer(let value): self = .integer(value)
            case .real(let value), .rounded(let value): self = .real(value)
            }
        case .string: self = .string(try reader.string())
        case .array:
            var values: [JSONValue] = []
            var elements = try reader.beginArray()
            while try reader.nextElement(&elements) { values.append(try JSONValue(&reader)) }
            self = .array(values)
        case .object:
            var result: [Member] = []
            var members = try reader.beginObject()
            while let key = try reader.nextKey(&members) {
                result.append(Member(key: key.text, value: try JSONValue(&reader)))
            }
            self = .object(result)
        }
    }

    /// Returns the member of an object with this key, compared by bytes; nil when there is none or the value is not an
    /// object.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key.utf8.count == key.utf8.count && $0.key.utf8.elementsEqual(key.utf8) }?.value
    }
}

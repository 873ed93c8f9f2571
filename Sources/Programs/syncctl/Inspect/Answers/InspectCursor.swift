import LoopbackPage
import SyncJSON
import SyncModel

extension PageArguments {
    /// Returns a position in a list, as `InspectCursor` writes it; nil if it is missing.
    func cursor(_ name: String) throws(PageError) -> RecordCursor? {
        guard let value = value(name) else { return nil }
        guard case .array(let parts) = value, let cursor = InspectCursor.cursor(parts) else {
            throw Self.wrong(name, "the position that a list returned")
        }
        return cursor
    }
}

/// Writes positions in lists for the page, which returns them unchanged: one array of a type and a value for each key.
enum InspectCursor {
    static func json(_ cursor: RecordCursor) -> JSONValue {
        .array(
            cursor.values.map { value in
                switch value {
                case .null: .array([.string("null")])
                case .boolean(let value): .array([.string("boolean"), .boolean(value)])
                case .integer(let value): .array([.string("integer"), .string(String(value))])
                case .real(let value): .array([.string("real"), .string("\(value)")])
                case .text(let value): .array([.string("text"), .string(value)])
                case .json(let value): .array([.string("json"), .string(value)])
                case .reference(let value): .array([.string("reference"), .string(value.description)])
                }
            })
    }

    static func cursor(_ parts: [JSONValue]) -> RecordCursor? {
        let values = parts.map(value)
        let known = values.compactMap(\.self)
        return known.count == values.count ? RecordCursor(values: known) : nil
    }

    private static func value(_ part: JSONValue) -> FieldValue? {
        guard case .array(let pair) = part, case .string(let type)? = pair.first else { return nil }
        switch (type, pair.dropFirst().first) {
        case ("null", nil): return .null
        case ("boolean", .boolean(let value)): return .boolean(value)
        case ("integer", .string(let text)): return Int64(text).map { .integer($0) }
        case ("real", .string(let text)): return Double(decimal: text).map { .real($0) }
        case ("text", .string(let text)): return .text(text)
        case ("json", .string(let text)): return .json(text)
        case ("reference", .string(let text)): return RecordID(text).map { .reference($0) }
        default: return nil
        }
    }
}

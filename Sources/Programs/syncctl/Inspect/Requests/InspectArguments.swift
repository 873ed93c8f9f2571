import SyncJSON
import SyncModel

/// The arguments of a call: the members of one JSON object.
struct InspectArguments {
    private let members: [JSONValue.Member]

    init(_ body: [UInt8]) throws(InspectRefusal) {
        do throws(JSONError) {
            guard case .object(let members) = try JSONValue(body) else {
                throw JSONError(.content, at: 0, "expected an object")
            }
            self.members = members
        } catch {
            throw InspectRefusal(400, "the request is not valid JSON: \(error)")
        }
    }

    /// Throws if there are other arguments than these.
    func require(only names: String...) throws(InspectRefusal) {
        for member in members where !names.contains(member.key) {
            throw InspectRefusal(
                400, "the argument '\(member.key.prefix(64))' is unknown; expected \(names.joined(separator: ", "))")
        }
    }

    private func value(_ name: String) -> JSONValue? {
        let value = members.first { $0.key == name }?.value
        return value == .null ? nil : value
    }

    func text(_ name: String) throws(InspectRefusal) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw Self.wrong(name, "a text") }
        return text
    }

    func requiredText(_ name: String) throws(InspectRefusal) -> String {
        guard let text = try text(name) else { throw Self.wrong(name, "a text") }
        return text
    }

    func number(_ name: String) throws(InspectRefusal) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .integer(let number) = value else { throw Self.wrong(name, "a whole number") }
        return number
    }

    func requiredNumber(_ name: String) throws(InspectRefusal) -> Int64 {
        guard let number = try number(name) else { throw Self.wrong(name, "a whole number") }
        return number
    }

    /// Returns the number of results to return: the argument `limit`, or `maximum` if it is missing or greater.
    func limit(upTo maximum: Int) throws(InspectRefusal) -> Int {
        guard let number = try number("limit") else { return maximum }
        guard number > 0 else { throw Self.wrong("limit", "a number of at least 1") }
        return Int(min(number, Int64(maximum)))
    }

    func flag(_ name: String) throws(InspectRefusal) -> Bool {
        guard let value = value(name) else { return false }
        guard case .boolean(let flag) = value else { throw Self.wrong(name, "true or false") }
        return flag
    }

    func record(_ name: String) throws(InspectRefusal) -> RecordID {
        guard let id = RecordID(try requiredText(name)) else { throw Self.wrong(name, "the id of a record") }
        return id
    }

    /// Returns an object of texts; empty if it is missing.
    func texts(_ name: String) throws(InspectRefusal) -> [(name: String, text: String)] {
        guard let value = value(name) else { return [] }
        guard case .object(let members) = value else { throw Self.wrong(name, "an object of texts") }
        return try members.map { (member) throws(InspectRefusal) in
            guard case .string(let text) = member.value else { throw Self.wrong(name, "an object of texts") }
            return (member.key, text)
        }
    }

    /// Returns a position in a list, as `InspectCursor` writes it; nil if it is missing.
    func cursor(_ name: String) throws(InspectRefusal) -> RecordCursor? {
        guard let value = value(name) else { return nil }
        guard case .array(let parts) = value, let cursor = InspectCursor.cursor(parts) else {
            throw Self.wrong(name, "the position that a list returned")
        }
        return cursor
    }

    private static func wrong(_ name: String, _ expected: String) -> InspectRefusal {
        InspectRefusal(400, "the argument \(name) is missing or of another kind; expected \(expected)")
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

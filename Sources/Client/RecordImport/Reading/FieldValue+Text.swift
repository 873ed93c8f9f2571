import SyncJSON
package import SyncModel
import TomboloModeling

extension FieldValue {
    /// Creates a value of a field from its text form; nil when the text is not a value of the field's type.
    package init?(_ text: String, of field: FieldSchema) {
        guard let value = field.isDate ? field.date(text) : FieldValue(text, as: field.type) else { return nil }
        self = value
    }

    /// Creates a value from its text form; nil when the text is not a value of the type.
    ///
    /// A boolean is `true` or `false`, and a reference is a UUID.
    package init?(_ text: String, as type: FieldType) {
        switch type {
        case .text: self = .text(text)
        case .integer:
            guard let number = Int64(text) else { return nil }
            self = .integer(number)
        case .real:
            guard let number = Double(decimal: text) else { return nil }
            self = .real(number)
        case .boolean:
            guard let bool = Bool(text) else { return nil }
            self = .boolean(bool)
        case .json:
            guard (try? JSONValue(Array(text.utf8))) != nil else { return nil }
            self = .json(text)
        case .reference:
            guard let id = RecordID(text) else { return nil }
            self = .reference(id)
        }
    }
}

extension FieldSchema {
    /// A description of the texts that this field accepts, for messages.
    package var expectation: String {
        isDate ? "a date in ISO 8601, such as 2026-12-01 or 2026-12-01T10:00:00Z" : type.expectation
    }

    /// Returns the message for a text that is not a value of this field: the fault, and the expected form.
    package func problem(parsing text: String) -> String {
        isDate ? "'\(text.shortened)' is not a valid date; expected \(expectation)" : type.problem(parsing: text)
    }
}

extension FieldType {
    /// A description of the texts that this type accepts, for messages.
    package var expectation: String {
        switch self {
        case .boolean: "true or false"
        case .integer: "a whole number from \(Int64.min) to \(Int64.max), such as 42"
        case .real: "a number, such as 1.5 or -2e3"
        case .text: "text"
        case .reference: "the id of a record, such as 01890a5d-ac96-774b-bcce-b302099a8057"
        case .json: #"JSON, such as {"a": 1}, [1, 2], or "text""#
        }
    }

    /// Returns the message for a text that is not a value of this type: the fault, and the expected form.
    package func problem(parsing text: String) -> String {
        let shown = "'\(text.shortened)'"
        switch self {
        case .json:
            var place = ""
            do throws(JSONError) { _ = try JSONValue(Array(text.utf8)) } catch { place = " (\(error))" }
            return "\(shown) is not valid JSON\(place); expected \(expectation)"
        case .integer where Self.looksLikeDate(text):
            return
                "\(shown) is not a valid integer; expected a whole number. A date is the number of microseconds since 1970 in UTC, such as 1767225600000000 for 2026-01-01, unless its model declares a date"
        case .integer, .real, .boolean, .text, .reference:
            return "\(shown) is not a valid \(rawValue); expected \(expectation)"
        }
    }

    /// Whether a text begins like `2026-01-01` or `1/1/2026`.
    private static func looksLikeDate(_ text: String) -> Bool {
        let hyphenated = text.prefix { !"T ".contains($0) }.split(separator: "-", omittingEmptySubsequences: false)
        let slashed = text.prefix { !"T ".contains($0) }.split(separator: "/", omittingEmptySubsequences: false)
        return [hyphenated, slashed].contains { $0.count == 3 && $0.allSatisfy { Int($0) != nil } }
    }
}

extension String {
    /// The text, cut after 64 characters.
    fileprivate var shortened: String { count > 64 ? "\(prefix(64))…" : self }
}

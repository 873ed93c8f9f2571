import SyncJSON
public import SyncModel

extension FieldValue {
    /// Parses a value as people write it, or returns nil when the text does not match the type. A reference must be a
    /// UUID.
    public init?(_ text: String, as type: FieldType) {
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

extension FieldType {
    /// The values of this type as people write them, with an example.
    public var expectation: String {
        switch self {
        case .boolean: "true or false"
        case .integer: "a whole number from \(Int64.min) to \(Int64.max), such as 42"
        case .real: "a number, such as 1.5 or -2e3"
        case .text: "text"
        case .reference: "the id of a record, such as 01890a5d-ac96-774b-bcce-b302099a8057"
        case .json: #"JSON, such as {"a": 1}, [1, 2], or "text""#
        }
    }

    /// Returns what is wrong with a text that has no value of this type, and what is expected.
    public func problem(parsing text: String) -> String {
        let shown = text.count > 64 ? "'\(text.prefix(64))…'" : "'\(text)'"
        switch self {
        case .json:
            var place = ""
            do throws(JSONError) { _ = try JSONValue(Array(text.utf8)) } catch { place = " (\(error))" }
            return "\(shown) is not valid JSON\(place); expected \(expectation)"
        case .integer where Self.looksLikeDate(text):
            return
                "\(shown) is not a valid integer; expected a whole number. A date is the number of microseconds since 1970 in UTC, such as 1767225600000000 for 2026-01-01"
        case .integer, .real, .boolean, .text, .reference:
            return "\(shown) is not a valid \(rawValue); expected \(expectation)"
        }
    }

    /// Whether a text begins like `2026-01-01` or `1/1/2026`.
    private static func looksLikeDate(_ text: String) -> Bool {
        let parts = text.prefix { !"T ".contains($0) }.split(separator: "-", omittingEmptySubsequences: false)
        let others = text.prefix { !"T ".contains($0) }.split(separator: "/", omittingEmptySubsequences: false)
        return [parts, others].contains { $0.count == 3 && $0.allSatisfy { Int($0) != nil } }
    }
}

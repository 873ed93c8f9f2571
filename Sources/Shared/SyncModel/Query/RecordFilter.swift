/// A condition on the records of one collection, as data.
///
/// The same tree has three readers: a store translates it to SQL, ``matches(_:schema:)`` evaluates it in memory, and
/// ``description`` prints it. Both evaluations use two-valued logic: an ordered comparison with a missing value is
/// false, so its negation is true. Texts compare by their bytes.
public indirect enum RecordFilter: Hashable, Sendable {
    /// True if every part is true. An empty list is true.
    case all([RecordFilter])
    /// True if any part is true. An empty list is false.
    case any([RecordFilter])
    /// True if the part is false, even if it is false because a value is missing.
    case not(RecordFilter)
    /// Compares a term with a value. Only `equal` and `notEqual` accept null.
    case compare(RecordTerm, Comparison, FieldValue)
    /// True if the field has one of the values.
    case isIn(FieldName, [FieldValue])
    /// True if the text of the field begins with this text.
    case hasPrefix(FieldName, String)
    /// True if the text of the field contains this text.
    case contains(FieldName, String)

    /// The comparisons. The raw value is the operator in messages.
    public enum Comparison: String, Hashable, Sendable, CaseIterable {
        /// True if the values are equal, or if both are missing.
        case equal = "=="
        /// True if the values differ, or if only one is missing.
        case notEqual = "!="
        /// True if the record's value is before the other; false if one is missing.
        case less = "<"
        /// True if the record's value is not after the other; false if one is missing.
        case lessOrEqual = "<="
        /// True if the record's value is after the other; false if one is missing.
        case greater = ">"
        /// True if the record's value is not before the other; false if one is missing.
        case greaterOrEqual = ">="
    }

    /// Creates a filter for the records whose field has this value; null finds the records without a value.
    public init(_ field: FieldName, equals value: FieldValue) {
        self = .compare(.field(field), .equal, value)
    }

    /// A filter that every record meets.
    public static let everything = RecordFilter.all([])
}

/// The part of a record that a filter compares, or an order sorts by.
public enum RecordTerm: Hashable, Sendable {
    /// The id of the record, compared by its bytes. Ids that `RecordID.make` created sort by time.
    case id
    /// The server's number of the record; −1 before it has one.
    case uid
    /// The value of a field; missing in every record if the schema has no such field.
    case field(FieldName)
}

extension RecordFilter {
    /// Returns a filter that is true if both filters are true; nested lists become one.
    public static func && (left: RecordFilter, right: RecordFilter) -> RecordFilter {
        switch (left, right) {
        case (.all(let first), .all(let second)): .all(first + second)
        case (.all(let first), _): first.isEmpty ? right : .all(first + [right])
        case (_, .all(let second)): second.isEmpty ? left : .all([left] + second)
        default: .all([left, right])
        }
    }

    /// Returns a filter that is true if either filter is true; nested lists become one.
    public static func || (left: RecordFilter, right: RecordFilter) -> RecordFilter {
        switch (left, right) {
        case (.any(let first), .any(let second)): .any(first + second)
        case (.any(let first), _): .any(first + [right])
        case (_, .any(let second)): .any([left] + second)
        default: .any([left, right])
        }
    }

    /// Returns a filter that is true where this one is false. Two negations cancel out.
    public static prefix func ! (filter: RecordFilter) -> RecordFilter {
        if case .not(let inner) = filter { inner } else { .not(filter) }
    }
}

extension RecordFilter: CustomStringConvertible {
    public var description: String {
        switch self {
        case .all(let parts): Self.joined(parts, by: "&&", empty: "everything")
        case .any(let parts): Self.joined(parts, by: "||", empty: "nothing")
        case .not(let inner): "!(\(inner))"
        case .compare(let term, let comparison, let value): "\(term) \(comparison.rawValue) \(value.shortText)"
        case .isIn(let field, let values): "\(field) in [\(values.map(\.shortText).joined(separator: ", "))]"
        case .hasPrefix(let field, let text): "\(field) begins with \(FieldValue.text(text).shortText)"
        case .contains(let field, let text): "\(field) contains \(FieldValue.text(text).shortText)"
        }
    }

    private static func joined(_ parts: [RecordFilter], by word: String, empty: String) -> String {
        switch parts.count {
        case 0: empty
        case 1: "\(parts[0])"
        default: "(" + parts.map { "\($0)" }.joined(separator: " \(word) ") + ")"
        }
    }
}

extension RecordTerm: CustomStringConvertible {
    public var description: String {
        switch self {
        case .id: "id"
        case .uid: "uid"
        case .field(let name): name.rawValue
        }
    }
}

extension FieldValue {
    /// The value for a log line: long texts are shortened.
    package var shortText: String {
        switch self {
        case .null: "nil"
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let text), .json(let text): text.count > 40 ? "'\(text.prefix(40))…'" : "'\(text)'"
        case .reference(let id): "\(id)"
        }
    }
}

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
            guard let number = Double(text), number.isFinite else { return nil }
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

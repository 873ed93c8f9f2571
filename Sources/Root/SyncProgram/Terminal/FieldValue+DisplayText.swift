package import SyncModel

extension FieldValue {
    /// The whole value as text for people.
    package var displayText: String {
        switch self {
        case .null: "nothing"
        case .boolean(let bool): bool ? "yes" : "no"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .json(let text): text
        case .reference(let id): "\(id)"
        }
    }
}

package import SyncModel
import TomboloModeling

extension FieldValue {
    /// Returns the whole value of a field as text for people.
    ///
    /// - Parameter field: Nil if the models do not have the field.
    package func displayText(of field: FieldSchema?) -> String { field?.dateText(self) ?? displayText }

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

import FoundationEssentials
public import SyncModel

/// A `Codable` value that a field holds as JSON, such as a list or a nested structure.
///
/// The field is merged as a whole. If this build cannot decode the text, ``value`` is nil, and the text stays in the
/// record until another value is set.
public struct JSON<Value: Codable & Equatable & Sendable>: ModelValue, TextualValue {
    public typealias Base = JSON<Value>

    /// The decoded value; nil if this build cannot decode the text.
    public let value: Value?
    /// The JSON text.
    public let text: String
    public let storageProblem: String?

    /// Wraps a value for a field of JSON.
    public init(_ value: Value) {
        self.value = value
        let encoder = JSONEncoder()
        // The same value always has the same text, so that setting it again is no change.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            text = String(decoding: try encoder.encode(value), as: UTF8.self)
            storageProblem = nil
        } catch {
            text = "null"
            storageProblem = "the value cannot be encoded as JSON: \(error)"
        }
    }

    private init(text: String) {
        self.text = text
        value = try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
        storageProblem = nil
    }

    public static var storage: FieldType { .json }
    public static var empty: JSON<Value> { JSON(text: "null") }

    public init?(stored: FieldValue) {
        guard case .json(let text) = stored else { return nil }
        self.init(text: text)
    }

    public var stored: FieldValue? { storageProblem == nil ? .json(text) : nil }

    /// Compares the values if both can be decoded, and the texts otherwise.
    public static func == (left: JSON<Value>, right: JSON<Value>) -> Bool {
        if let first = left.value, let second = right.value { return first == second }
        return left.text == right.text
    }
}

/// The number that a record gets when the server first accepts the record, unique within the collection.
///
/// Until then the uid is −1.
public struct UID: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates a uid from any number; a negative one is not valid.
    public init(_ value: Int64) {
        rawValue = value
    }

    /// The uid of a record that no server has accepted yet.
    public static let none = UID(-1)

    /// Whether a server has assigned this uid.
    public var isValid: Bool { rawValue >= 0 }

    public static func < (left: UID, right: UID) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension UID: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

/// The number that the server assigns to a record when it first accepts it. It is unique within its collection.
///
/// Until then it is −1: a record with a negative uid has not been created on a server.
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

/// The number that the server assigns to a record when it first accepts it. It is unique within its collection.
///
/// Until then it is −1: a record with a negative uid has not been created on a server.
public struct UID: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

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

/// A number that grows by one with each commit in a space. Version 0 precedes the first commit.
public struct Version: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public init(_ value: Int64) {
        rawValue = value
    }

    public static let zero = Version(0)

    public var next: Version { Version(rawValue + 1) }

    public static func < (left: Version, right: Version) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension Version: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

/// The number of a transaction within one incarnation of a client: 0, 1, 2, … without gaps.
public struct TransactionNumber: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public init(_ value: Int64) {
        rawValue = value
    }

    public static let first = TransactionNumber(0)

    public var next: TransactionNumber { TransactionNumber(rawValue + 1) }

    public static func < (left: TransactionNumber, right: TransactionNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension TransactionNumber: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

/// The identity of a server's history. A server that was restored from a backup starts a new one.
public struct Epoch: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension Epoch: CustomStringConvertible {
    public var description: String { rawValue }
}

/// A client's position in a space. It is opaque to clients: only the server creates and reads it.
public struct Cursor: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension Cursor: CustomStringConvertible {
    public var description: String { rawValue }
}

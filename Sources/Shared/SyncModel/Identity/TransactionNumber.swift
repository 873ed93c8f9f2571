/// The number of a transaction within one incarnation of a client: 0, 1, 2, … without gaps.
public struct TransactionNumber: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates a number without checking that it is 0 or more.
    public init(_ value: Int64) {
        rawValue = value
    }

    /// The first number of every incarnation: 0.
    public static let first = TransactionNumber(0)

    /// The number of the transaction after this one.
    public var next: TransactionNumber { TransactionNumber(rawValue + 1) }

    public static func < (left: TransactionNumber, right: TransactionNumber) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension TransactionNumber: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

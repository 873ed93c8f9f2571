/// A number that grows by one with each commit in a space. Version 0 precedes the first commit.
public struct Version: RawRepresentable, Hashable, Comparable, Sendable {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Creates a version without checking that it is 0 or more.
    public init(_ value: Int64) {
        rawValue = value
    }

    /// The version of a space without commits.
    public static let zero = Version(0)

    /// The version of the commit after this one.
    public var next: Version { Version(rawValue + 1) }

    public static func < (left: Version, right: Version) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension Version: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

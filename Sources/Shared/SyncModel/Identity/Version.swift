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

    /// The largest version on the wire, 2^53 - 1: the largest integer that every JSON reader represents exactly.
    ///
    /// A space with a million commits a second reaches it after 285 years. Without a bound, one page with the version
    /// 2^63 - 1 would leave no number for the next commit.
    public static let largest = Version(9_007_199_254_740_991)

    /// The version of the commit after this one.
    public var next: Version { Version(rawValue + 1) }

    public static func < (left: Version, right: Version) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension Version: CustomStringConvertible {
    public var description: String { String(rawValue) }
}

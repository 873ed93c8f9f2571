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

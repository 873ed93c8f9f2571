/// A name that is safe as an identifier in SQL, JSON and URLs: a lower-case letter, then up to 62 lower-case
/// letters, digits or underscores.
///
/// The names of collections and fields become names of tables and columns, so their alphabet is the first guard
/// against injection.
public protocol PlainName: RawRepresentable<String>, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// Makes the name without looking at it; used by `init(rawValue:)` after the check.
    init(unchecked text: String)
}

extension PlainName {
    /// Nil when the text breaks the rule for plain names.
    public init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard let first = bytes.first, bytes.count <= 63, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
        else { return nil }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                continue
            default: return nil
            }
        }
        self.init(unchecked: rawValue)
    }

    /// A literal in source code that breaks the rule is a programmer's error, and traps.
    public init(stringLiteral value: String) {
        guard let name = Self(rawValue: value) else {
            preconditionFailure("'\(value)' is not a plain name: a-z, then a-z, 0-9 or _, 63 at most")
        }
        self = name
    }

    /// By bytes: for the letters of names, the order of `String` is that.
    public static func < (left: Self, right: Self) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { rawValue }
}

/// The name of a collection: all records of one model.
public struct CollectionName: PlainName {
    public let rawValue: String
    public init(unchecked text: String) { rawValue = text }
}

/// The name of a field of a collection.
public struct FieldName: PlainName {
    public let rawValue: String
    public init(unchecked text: String) { rawValue = text }
}

/// The name of a space: the unit of order, of atomic commit, of permission, of subscription and of sharding.
public struct SpaceID: PlainName {
    public let rawValue: String
    public init(unchecked text: String) { rawValue = text }

    /// The one space of an application that needs no more.
    public static let `default`: SpaceID = "default"
}

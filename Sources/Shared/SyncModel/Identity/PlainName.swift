/// A name that is safe as an identifier in SQL, JSON, and URLs: a lower-case letter, then up to 62 lower-case letters,
/// digits, or underscores.
///
/// The names of collections and fields become the names of tables and columns, so this alphabet is the first guard
/// against SQL injection.
public protocol PlainName: RawRepresentable<String>, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// Creates the name without checking it. `init(rawValue:)` calls this after the check.
    init(unchecked text: String)
}

extension PlainName {
    /// Returns nil when the text breaks the rule for plain names.
    public init?(rawValue: String) {
        var text = rawValue
        // The loop runs over memory, because names are checked in each row that a server sends or stores.
        guard text.withUTF8(Self.isValid) else { return nil }
        self.init(unchecked: rawValue)
    }

    private static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = bytes.first, bytes.count <= 63, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first)
        else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
            default: false
            }
        }
    }

    /// Creates a name from a literal in source code. Traps when the literal breaks the rule, because that is a
    /// programmer error.
    public init(stringLiteral value: String) {
        guard let name = Self(rawValue: value) else {
            preconditionFailure("'\(value)' is not a plain name: a-z, then a-z, 0-9 or _, 63 at most")
        }
        self = name
    }

    /// Compares names by their bytes. For the characters that a name may contain, `String` has the same order.
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

/// The name of a space: the unit of order, atomic commit, and permission. A device follows whole spaces.
public struct SpaceID: PlainName {
    public let rawValue: String
    public init(unchecked text: String) { rawValue = text }

    /// The space for applications that need only one.
    public static let `default`: SpaceID = "default"
}

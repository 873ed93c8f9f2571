/// Where somebody lives, in the form that is usual there. Each kind has its own parts and its own rules.
public protocol Address: Sendable {
    /// The word by which the kind is known in JSON.
    var kind: String { get }

    /// On one line, for people.
    var display: String { get }

    /// As it is kept: an object with `kind`, and the parts.
    var json: String { get }

    func validate() throws(InvalidAddress)
}

/// An error in an address: which part of which kind, and what was expected.
public struct InvalidAddress: Error, Hashable, Sendable, CustomStringConvertible {
    public let kind: String
    public let part: String
    public let expected: String

    public init(kind: String, part: String, expected: String) {
        self.kind = kind
        self.part = part
        self.expected = expected
    }

    public var description: String { "the \(part) of an address of kind \(kind) has to be \(expected)" }
}

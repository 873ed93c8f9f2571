/// A postal address in the form of its country. Each kind has its own parts and rules.
public protocol Address: Sendable {
    /// The name of the kind in JSON.
    var kind: String { get }

    /// The address on one line, for people.
    var display: String { get }

    /// The address as it is stored: a JSON object with `kind` and the parts.
    var json: String { get }

    func validate() throws(InvalidAddressError)
}

/// An error in an address: the kind, the part, and what was expected.
public struct InvalidAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    public let kind: String
    public let part: String
    public let expected: String

    public init(kind: String, part: String, expected: String) {
        self.kind = kind
        self.part = part
        self.expected = expected
    }

    public var description: String { "the \(part) of an address of kind \(kind) must be \(expected)" }
}

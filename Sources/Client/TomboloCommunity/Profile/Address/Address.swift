/// A postal address in the form of its country. Each kind has its own parts and rules.
public protocol Address: Sendable {
    /// The name of the kind in JSON.
    var kind: String { get }

    /// The address on one line, for people.
    var display: String { get }

    /// The address as it is stored: a JSON object with `kind` and the parts.
    var json: String { get }

    /// Checks the parts against the rules of the kind.
    ///
    /// A device checks the stored JSON before it writes a profile, and a server before it applies the write. Both check
    /// the parts only if their builds know the kind and every part. Otherwise, they check only the form: a JSON object
    /// with a kind.
    ///
    /// - Throws: `InvalidAddressError` for the first part that breaks its rule.
    func validate() throws(InvalidAddressError)
}

/// An error in an address: the kind, the part, and what was expected.
public struct InvalidAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind as in the JSON; `?` when the text has none.
    public let kind: String
    /// The name of the part in the JSON, such as `postal_code`; `text` when the text is not an address at all.
    public let part: String
    /// The text that follows "must be" in the description.
    public let expected: String

    /// Creates an error for the `validate()` of an application's own kind of address.
    public init(kind: String, part: String, expected: String) {
        self.kind = kind
        self.part = part
        self.expected = expected
    }

    public var description: String { "the \(part) of an address of kind \(kind) must be \(expected)" }
}

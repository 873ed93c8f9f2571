/// An address of a kind that this build knows. The list of its parts provides its JSON and its validation.
public protocol KnownAddress: Address, Hashable {
    /// The value of the member `kind` in the JSON, which differs for each type.
    static var kind: String { get }
    /// The parts in the order of the JSON and of the checks. JSON with another member is read as an `UnknownAddress`.
    static var parts: [AddressPart<Self>] { get }
    /// Creates an address with all parts empty.
    init()
}

/// One part of a kind of address.
public struct AddressPart<Owner>: Sendable {
    /// The name of the part in the JSON and in error messages.
    public let name: String
    /// The property that holds the part. An empty text means that the part was not given.
    public let value: any WritableKeyPath<Owner, String> & Sendable
    /// The rule that `validate()` checks. A part is required if its rule is false for an empty text.
    public let rule: AddressRule

    /// Creates a part.
    ///
    /// - Parameters:
    ///   - name: the name of the part in the JSON, unique in its kind.
    ///   - value: the property that holds the part.
    ///   - rule: the rule that `validate()` checks.
    public init(_ name: String, _ value: any WritableKeyPath<Owner, String> & Sendable, _ rule: AddressRule) {
        self.name = name
        self.value = value
        self.rule = rule
    }
}

/// The rule for one part of an address.
public struct AddressRule: Sendable {
    /// The text that follows "must be" in an error message.
    public let expected: String
    /// Returns whether the whole text of a part is valid. Called on any thread.
    public let holds: @Sendable (String) -> Bool

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - expected: the text that follows "must be" in an error message.
    ///   - holds: returns whether the whole text of a part is valid.
    public init(_ expected: String, holds: @escaping @Sendable (String) -> Bool) {
        self.expected = expected
        self.holds = holds
    }

    /// A text of 1 to 200 characters, at least one of which is not white space. Control characters and the separators
    /// of lines and paragraphs (U+2028, U+2029) are not allowed.
    public static let line = AddressRule(
        "a line of 1 to \(CommunityLimits.addressPartCharacters) characters, without control characters"
    ) { text in
        text.count <= CommunityLimits.addressPartCharacters
            && text.unicodeScalars.contains { !$0.properties.isWhitespace }
            && !text.unicodeScalars.contains { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            }
    }

    /// Returns a rule for exactly `count` ASCII digits.
    public static func digits(_ count: Int) -> AddressRule {
        AddressRule("\(count) digits") { $0.utf8.count == count && $0.utf8.allSatisfy(isDigit) }
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

extension KnownAddress {
    public var kind: String { Self.kind }

    public var json: String { AddressCodec.json(of: self) }

    public func validate() throws(InvalidAddressError) {
        for part in Self.parts where !part.rule.holds(self[keyPath: part.value]) {
            throw InvalidAddressError(kind: Self.kind, part: part.name, expected: part.rule.expected)
        }
    }
}

/// The identity of one local database, generated once when the database is created.
public struct ClientID: Hashable, Comparable, Sendable {
    public let bits: Identifier128

    public init(bits: Identifier128) {
        self.bits = bits
    }

    public static func make(at time: WallTime, random: inout some RandomNumberGenerator) -> ClientID {
        ClientID(bits: .version7(at: time, random: &random))
    }

    /// Parses the 36-character text form. Returns nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard let bits = Identifier128(text: text) else { return nil }
        self.init(bits: bits)
    }

    public static func < (left: ClientID, right: ClientID) -> Bool {
        left.bits < right.bits
    }
}

extension ClientID: CustomStringConvertible {
    public var description: String { bits.description }
}

/// The sender of a push: a client id and its incarnation.
///
/// A client starts its next incarnation when the server begins a different history; its transaction numbers then start
/// again at 0 (I15). A database that was copied or rolled back reuses numbers that the server has seen with different
/// contents. It takes a new client id, because the other copy may still be in use (I16).
public struct ClientIdentity: Hashable, Sendable {
    public let client: ClientID
    public let incarnation: Int

    public init(client: ClientID, incarnation: Int) {
        self.client = client
        self.incarnation = incarnation
    }

    /// The next incarnation of the same client, whose transaction numbers start again at 0.
    public var next: ClientIdentity {
        ClientIdentity(client: client, incarnation: incarnation + 1)
    }
}

extension ClientIdentity: CustomStringConvertible {
    public var description: String { "\(client)/\(incarnation)" }
}

/// The identity of one local database, generated once when the database is created.
public struct ClientID: Hashable, Comparable, Sendable {
    /// The UUID, of version 7 if `make` created it.
    public let bits: Identifier128

    /// Wraps any UUID, whatever its version.
    public init(bits: Identifier128) {
        self.bits = bits
    }

    /// Returns a new id: a version 7 UUID with 74 random bits, unique even if the time is wrong.
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
    /// The id of the database. It changes only when another copy of the database uses it.
    public let client: ClientID
    /// The number of the incarnation, from 0.
    public let incarnation: Int

    /// Creates the identity of a client in its given incarnation; 0 is the first.
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

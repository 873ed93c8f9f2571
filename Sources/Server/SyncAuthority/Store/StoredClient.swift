public import SyncModel

/// The owner of a client id.
public struct ClientOwner: Hashable, Sendable {
    /// The account that first pushed with the client id. No other account can push with it.
    public let principal: Principal
    /// The client id under which the device pushed later, or the id itself if an operator has released it; nil while
    /// the id counts as a device of the account. See `AccountLimits.clients`.
    public let replacement: ClientID?

    /// Creates an owner as a store has read it.
    public init(principal: Principal, replacement: ClientID? = nil) {
        self.principal = principal
        self.replacement = replacement
    }
}

/// A client that has pushed, as the server stores it.
public struct StoredClient: Hashable, Sendable {
    /// The client id, with the newest incarnation that has pushed.
    public let identity: ClientIdentity
    /// The account under which the client pushes.
    public let principal: Principal
    /// Whether the client does not count as a device of the account: its device pushes under another client id now, or
    /// an operator has released it.
    public let isReplaced: Bool
    /// The progress of that incarnation.
    public let ledger: Ledger

    /// Creates a client as a store has read it.
    public init(identity: ClientIdentity, principal: Principal, isReplaced: Bool = false, ledger: Ledger) {
        self.identity = identity
        self.principal = principal
        self.isReplaced = isReplaced
        self.ledger = ledger
    }
}

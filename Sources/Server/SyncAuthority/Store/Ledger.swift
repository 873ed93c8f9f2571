public import SyncModel

/// The client whose transactions are counted together. The principal belongs to the key: nobody can use up or read the numbers
/// of another's device by naming its client id.
public struct LedgerKey: Hashable, Sendable {
    public let principal: Principal
    public let identity: ClientIdentity

    public init(principal: Principal, identity: ClientIdentity) {
        self.principal = principal
        self.identity = identity
    }
}

/// How far the transactions of one incarnation of a client have come.
public struct Ledger: Hashable, Sendable {
    /// The number of the next transaction: every smaller one has an outcome.
    public var next: TransactionNumber
    /// Outcomes below this number have been seen by the client, and are forgotten.
    public var acknowledged: TransactionNumber

    public init(next: TransactionNumber, acknowledged: TransactionNumber) {
        self.next = next
        self.acknowledged = acknowledged
    }

    /// Of a client that has never pushed.
    public static let empty = Ledger(next: .first, acknowledged: .first)
}

/// The outcome of a transaction, with the hash that tells a repeat from a re-used number.
public struct StoredOutcome: Hashable, Sendable {
    public let hash: PayloadHash
    public let outcome: Outcome

    public init(hash: PayloadHash, outcome: Outcome) {
        self.hash = hash
        self.outcome = outcome
    }
}

/// The author of a commit.
public struct CommitAuthor: Hashable, Sendable {
    public let principal: Principal
    public let identity: ClientIdentity
    public let number: TransactionNumber
    /// The server's wall clock at the commit.
    public let at: WallTime

    public init(principal: Principal, identity: ClientIdentity, number: TransactionNumber, at: WallTime) {
        self.principal = principal
        self.identity = identity
        self.number = number
        self.at = at
    }
}

/// A conflict as the server keeps it, with the losing value.
public struct RecordedConflict: Hashable, Sendable {
    /// Grows with each conflict.
    public let number: Int64
    public let space: SpaceID
    /// The version of the outcome that tells of it.
    public let version: Version
    /// The author of the edit that met another.
    public let author: CommitAuthor
    public let conflict: FieldConflict

    public init(number: Int64, space: SpaceID, version: Version, author: CommitAuthor, conflict: FieldConflict) {
        self.number = number
        self.space = space
        self.version = version
        self.author = author
        self.conflict = conflict
    }
}

extension FieldConflict {
    /// The client that a notice has to tell of its lost value; nil when the outcome of the push tells it.
    ///
    /// Two values of one client may come from two copies of its database, each in an incarnation of its own. Then there is a
    /// notice, too; the device whose push told it recognizes the conflict.
    public func addressee(pushedBy author: CommitAuthor) -> ClientID? {
        let client = loser.stamp.client
        return client == author.identity.client && client != winner.stamp.client ? nil : client
    }
}

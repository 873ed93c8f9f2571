public import SyncModel

/// The key of a ledger: a principal, and one incarnation of a client. Its transactions share one sequence of numbers.
///
/// The principal is part of the key, so that nobody can use up or read the numbers of another principal's client by
/// naming its client id.
public struct LedgerKey: Hashable, Sendable {
    /// The account under which the client pushes.
    public let principal: Principal
    /// The client and its incarnation. Each incarnation has its own numbers.
    public let identity: ClientIdentity

    /// Creates the key of one incarnation of a principal's client.
    public init(principal: Principal, identity: ClientIdentity) {
        self.principal = principal
        self.identity = identity
    }
}

/// The progress of one incarnation of a client. The outcomes are stored separately, as `StoredOutcome`.
public struct Ledger: Hashable, Sendable {
    /// The number of the next transaction. Every smaller number has had an outcome.
    public var next: TransactionNumber
    /// The client has received every outcome below this number. The server keeps the newest
    /// `AuthorityLimits.keptOutcomes` of them, as far as `AuthorityLimits.keptOutcomeBytes` permits, and at most
    /// `AuthorityLimits.mostOutcomes` of all.
    public var acknowledged: TransactionNumber

    /// Creates the progress of a client. `acknowledged` is at most `next`.
    public init(next: TransactionNumber, acknowledged: TransactionNumber) {
        self.next = next
        self.acknowledged = acknowledged
    }

    /// The number of the last transaction that has had an outcome; nil when there is none.
    public var lastAnswered: TransactionNumber? {
        next > .first ? TransactionNumber(next.rawValue - 1) : nil
    }

    /// The outcomes below this number are forgotten; 0 if there are none.
    var outcomeHorizon: Int64 {
        max(
            0, acknowledged.rawValue - Int64(AuthorityLimits.keptOutcomes),
            next.rawValue - Int64(AuthorityLimits.mostOutcomes))
    }

    /// The ledger of a client that has never pushed.
    public static let empty = Ledger(next: .first, acknowledged: .first)
}

/// The outcome of a transaction, with the hash that distinguishes a repeated transaction from a reused number.
public struct StoredOutcome: Hashable, Sendable {
    /// The hash of the transaction with this outcome.
    public let hash: PayloadHash
    /// The outcome that is returned when the transaction is pushed again.
    public let outcome: Outcome

    /// Creates the stored form of an outcome.
    public init(hash: PayloadHash, outcome: Outcome) {
        self.hash = hash
        self.outcome = outcome
    }
}

/// The author of a commit, with the time of the commit.
public struct CommitAuthor: Hashable, Sendable {
    /// The account that pushed the transaction.
    public let principal: Principal
    /// The client and its incarnation.
    public let identity: ClientIdentity
    /// The number of the transaction within the incarnation.
    public let number: TransactionNumber
    /// The time of the commit by the server's wall clock.
    public let committedAt: WallTime

    /// Creates the author of a commit.
    public init(principal: Principal, identity: ClientIdentity, number: TransactionNumber, committedAt: WallTime) {
        self.principal = principal
        self.identity = identity
        self.number = number
        self.committedAt = committedAt
    }
}

/// The owner of a client id.
public struct ClientOwner: Hashable, Sendable {
    /// The account that first pushed with the client id. No other account can push with it.
    public let principal: Principal
    /// The client id under which the device pushed later, or the id itself if an operator has released it; nil while the
    /// id counts as a device of the account. See `AccountLimits.clients`.
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
    /// Whether the client does not count as a device of the account: its device pushes under another client id now, or an
    /// operator has released it.
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

/// A commit in the change feed, with its author.
public struct RecordedCommit: Hashable, Sendable {
    /// The changes and their version.
    public let commit: Commit
    /// The author of the commit, and its time.
    public let author: CommitAuthor

    /// Creates a commit as a store has read it.
    public init(commit: Commit, author: CommitAuthor) {
        self.commit = commit
        self.author = author
    }
}

/// A conflict as the server stores it, with the losing value.
public struct RecordedConflict: Hashable, Sendable {
    /// A number that grows with each conflict.
    public let number: Int64
    /// The space of the record.
    public let space: SpaceID
    /// The version of the space in the outcome of the pushed transaction.
    public let version: Version
    /// The author of the pushed mutation that caused the conflict.
    public let author: CommitAuthor
    /// The values and the rule that decided between them.
    public let conflict: FieldConflict

    /// Creates a conflict as a store has read it.
    public init(number: Int64, space: SpaceID, version: Version, author: CommitAuthor, conflict: FieldConflict) {
        self.number = number
        self.space = space
        self.version = version
        self.author = author
        self.conflict = conflict
    }
}

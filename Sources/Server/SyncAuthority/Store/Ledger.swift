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

public import SyncModel

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

public import SyncModel

/// Where the authority keeps everything. Each call is one database transaction, synchronous, and may be made from any
/// thread; it may wait for a disk or for other writers, but never without bound.
///
/// `body` sees one moment of the database. Bodies make no other call of the store, and are not repeated.
public protocol AuthorityStore: Sendable {
    /// Reads at one moment. Does not wait for writers, nor they for it.
    func read<Result>(
        _ body: (any AuthorityView) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityStoreFailure) -> Result

    /// Writes all that `body` writes, durably, or, when it throws or the commit fails, nothing.
    ///
    /// Everything that `body` has read stays true until its end: an implementation that lets writers run beside each other locks
    /// the ledger and the records that are read, or fails with `busy` where that cannot be kept.
    func write<Result>(
        _ body: (any AuthorityTransaction) throws(AuthorityStoreFailure) -> Result
    ) throws(AuthorityStoreFailure) -> Result
}

/// The questions that a decision about a transaction may ask.
public protocol RecordLookup {
    /// The record, alive or deleted, in whatever space.
    func record(_ address: RecordAddress) throws(AuthorityStoreFailure) -> StoredRecord?

    /// Live records whose references, by one of `fields`, point at `target`; at most `limit`, in no given order.
    func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(AuthorityStoreFailure) -> [Referrer]

    /// The newest version of the space; `.zero` before its first commit.
    func head(of space: SpaceID) throws(AuthorityStoreFailure) -> Version

    /// The principal that first pushed with this client id; nil when nobody has.
    func owner(of client: ClientID) throws(AuthorityStoreFailure) -> Principal?
}

/// Reads. See `AuthorityStore.read`.
public protocol AuthorityView: RecordLookup {
    /// The history that this database holds, and the server's hybrid clock as it last stood.
    func state() throws(AuthorityStoreFailure) -> AuthorityState

    /// `.empty` for a space in which nothing has been committed.
    func extent(of space: SpaceID) throws(AuthorityStoreFailure) -> SpaceExtent

    /// The fingerprint of the space's history at a version from its horizon to its head; nil for others. It is `.start`
    /// before the first commit.
    func chain(at version: Version, in space: SpaceID) throws(AuthorityStoreFailure) -> HistoryChain?

    /// The spaces whose feeds hold more commits than so many, in the order of their names.
    func spaces(havingMoreCommitsThan count: Int) throws(AuthorityStoreFailure) -> [SpaceID]

    /// The record with this uid, alive or deleted, in whatever space.
    func record(_ collection: CollectionName, _ uid: UID) throws(AuthorityStoreFailure) -> StoredRecord?

    /// The live records of a collection in a space, with ids greater than `id`, in the order of their ids.
    ///
    /// The first one is given whatever the budget says.
    func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreFailure) -> RowSlice

    /// Whole commits after `version`, in their order, none missing, as many as the budget holds; the first one is
    /// given whatever it says.
    func commits(
        in space: SpaceID, after version: Version, budget: PageBudget
    ) throws(AuthorityStoreFailure) -> [Commit]

    /// Returns the author of a commit; nil when there is none, or it has been trimmed.
    func author(of version: Version, in space: SpaceID) throws(AuthorityStoreFailure) -> CommitAuthor?

    /// `.empty` for a client that has never pushed.
    func ledger(of key: LedgerKey) throws(AuthorityStoreFailure) -> Ledger

    /// Nil when there is none, or it is forgotten.
    func outcome(of key: LedgerKey, _ number: TransactionNumber) throws(AuthorityStoreFailure) -> StoredOutcome?

    /// The conflicts of a space after `number`, oldest first.
    func conflicts(
        in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreFailure) -> [RecordedConflict]

    /// How many conflicts are kept, of all spaces.
    func conflictCount() throws(AuthorityStoreFailure) -> Int

    /// Those of them whose losing value was written by one of `clients` and is not told by the outcome of a push.
    func notices(
        for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreFailure) -> [RecordedConflict]
}

extension AuthorityView {
    public func head(of space: SpaceID) throws(AuthorityStoreFailure) -> Version {
        try extent(of: space).head
    }
}

/// Writes, seen by the reads of the same transaction. See `AuthorityStore.write`.
public protocol AuthorityTransaction: AuthorityView {
    func set(_ state: AuthorityState) throws(AuthorityStoreFailure)

    /// Raises the head of the space by one and returns it. Called once for a commit, after everything that the
    /// decision needs has been read: an implementation may lock the space here until the end of the transaction.
    func takeVersion(in space: SpaceID) throws(AuthorityStoreFailure) -> Version

    /// The next number of the collection, never given before; 0 first. Numbers may be skipped.
    func takeUID(in collection: CollectionName) throws(AuthorityStoreFailure) -> UID

    /// Keeps the record in place of the one with its address.
    func put(_ record: StoredRecord) throws(AuthorityStoreFailure)

    /// Notes, and forgets, that a live record points at `target`.
    func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreFailure)
    func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreFailure)

    /// Adds to the feed the commit whose version was taken, with the fingerprint of the history up to it.
    func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, chain: HistoryChain
    ) throws(AuthorityStoreFailure)

    func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreFailure)

    func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreFailure)

    /// Forgets the outcomes of this key below `number`, and no other's.
    func forgetOutcomes(of key: LedgerKey, below number: TransactionNumber) throws(AuthorityStoreFailure)

    /// Binds a client id, which has no owner yet, to a principal for good.
    func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreFailure)

    /// Adds a conflict under the next number, which is greater than all before.
    func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreFailure)

    /// Removes the oldest conflicts of all spaces until `count` are left, at most `limit` of them.
    ///
    /// - Returns: how many it removed.
    func trimConflicts(keeping count: Int, limit: Int) throws(AuthorityStoreFailure) -> Int

    /// Removes the commits of the space up to `version` from the feed, and moves the horizon there. Records, tombstones,
    /// outcomes and the fingerprint at the horizon stay. A horizon never goes back, nor beyond the head.
    func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreFailure)
}

public struct AuthorityState: Hashable, Sendable {
    public var history: HistoryIdentity
    public var clock: HybridClock

    public init(history: HistoryIdentity, clock: HybridClock) {
        self.history = history
        self.clock = clock
    }

    public var epoch: Epoch { history.epoch }
}

/// How far the feed of a space reaches.
public struct SpaceExtent: Hashable, Sendable {
    /// The newest commit; `.zero` before the first.
    public let head: Version
    /// Every commit after this one is in the feed.
    public let horizon: Version

    public init(head: Version, horizon: Version) {
        self.head = head
        self.horizon = horizon
    }

    public static let empty = SpaceExtent(head: .zero, horizon: .zero)
}

/// How much one read may bring.
public struct PageBudget: Hashable, Sendable {
    /// Rows, or changes of commits.
    public var rows: Int
    /// Stored bytes, as the store counts them.
    public var bytes: Int

    public init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// Live records of one collection, in the order of their ids.
public struct RowSlice: Hashable, Sendable {
    public let records: [StoredRecord]
    /// The weight of the commits in the budget, in bytes.
    public let bytes: Int
    /// Whether no record of the collection follows.
    public let isComplete: Bool

    public init(records: [StoredRecord], bytes: Int, isComplete: Bool) {
        self.records = records
        self.bytes = bytes
        self.isComplete = isComplete
    }
}

/// A field that holds references.
public struct ReferenceField: Hashable, Sendable {
    public let collection: CollectionName
    public let field: FieldName

    public init(_ collection: CollectionName, _ field: FieldName) {
        self.collection = collection
        self.field = field
    }
}

/// A record that points at another by one of its fields.
public struct Referrer: Hashable, Sendable {
    public let address: RecordAddress
    public let field: FieldName

    public init(_ address: RecordAddress, _ field: FieldName) {
        self.address = address
        self.field = field
    }
}

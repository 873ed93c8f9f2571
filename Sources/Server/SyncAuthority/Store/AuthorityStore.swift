public import SyncModel

/// The store in which the authority keeps all its data.
///
/// Each call is one synchronous database transaction and may be made from any thread. It may wait for a disk or for
/// other writers, but only for a bounded time.
///
/// `body` sees a consistent snapshot of the database. It must not call the store again, and it is executed only once.
/// Both calls throw an `AuthorityStoreError`, and convert any other error of `body` to one.
public protocol AuthorityStore: Sendable {
    /// Reads from one snapshot of the database. Readers and writers do not wait for each other.
    func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result

    /// Commits everything that `body` writes, durably. If `body` throws, nothing is written. A commit that fails may
    /// have taken effect: see `AuthorityStoreError`.
    ///
    /// Everything that `body` has read must stay true until its end. An implementation that runs writers concurrently
    /// must lock the ledger and the records that are read, or throw `busy` when it cannot guarantee this.
    func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result

    /// Looks for damage in the whole store, which may take long. Throws `corrupt` when it finds some.
    ///
    /// A store without a check of its own only reads its state.
    func check() throws

    /// Returns whether the store takes writes, as far as a read can tell.
    func takesWrites() throws -> Bool
}

extension AuthorityStore {
    public func check() throws {
        _ = try read { view in try view.state() }
    }

    public func takesWrites() throws -> Bool { true }
}

/// The lookups that a decision about a transaction may make.
public protocol RecordLookup {
    /// Returns the record, alive or deleted, in any space.
    func record(_ address: RecordAddress) throws(AuthorityStoreError) -> StoredRecord?

    /// Returns live records that refer to `target` through one of `fields`, field by field, ordered by id; at most `limit`.
    ///
    /// All stores return the same records, so a rejection names the same one.
    func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(AuthorityStoreError) -> [Referrer]

    /// Returns the newest version of the space; `.zero` before its first commit.
    func head(of space: SpaceID) throws(AuthorityStoreError) -> Version

    /// Returns the principal that first pushed with this client id; nil when there is none.
    func owner(of client: ClientID) throws(AuthorityStoreError) -> ClientOwner?
}

/// The reads of a transaction. See `AuthorityStore.read`.
public protocol AuthorityView: RecordLookup {
    /// Returns the history that this database holds, and the last reading of the server's hybrid clock.
    func state() throws(AuthorityStoreError) -> AuthorityState

    /// Returns the models with which the records were written; nil for a store that keeps none yet.
    ///
    /// Field rules have only their names, and check nothing.
    func catalog() throws(AuthorityStoreError) -> SchemaCatalog?

    /// Returns the members of all spaces, ordered by space and account.
    func members() throws(AuthorityStoreError) -> [SpaceMember]

    /// Returns the extent of a space's change feed; `.empty` for a space without commits.
    func extent(of space: SpaceID) throws(AuthorityStoreError) -> SpaceExtent

    /// Returns the extents of all change feeds. A space without commits has none.
    func extents() throws(AuthorityStoreError) -> [SpaceID: SpaceExtent]

    /// Returns the fingerprint of the space's history at a version between its horizon and its head; nil for other
    /// versions. It is `.start` before the first commit.
    func fingerprint(at version: Version, in space: SpaceID) throws(AuthorityStoreError) -> HistoryFingerprint?

    /// Returns the spaces whose change feeds exceed the bound, ordered by name.
    func spaces(exceeding bound: FeedBound) throws(AuthorityStoreError) -> [SpaceID]

    /// Returns the version through which a change feed must be trimmed to meet the bound, but not more than `limit` commits
    /// after its horizon; nil when the feed meets the bound.
    func surplus(of space: SpaceID, over bound: FeedBound, limit: Int) throws(AuthorityStoreError) -> Version?

    /// Returns the record with this uid, alive or deleted, in any space.
    func record(_ collection: CollectionName, _ uid: UID) throws(AuthorityStoreError) -> StoredRecord?

    /// Returns the live records of a collection in a space with ids greater than `id`, ordered by id.
    ///
    /// The first record is returned even if it exceeds the budget.
    func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> RowSlice

    /// Returns the same records as `rows`, as clients see them. It reads nothing that only the server needs.
    ///
    /// - Parameter schema: the schema of the collection as this server knows it.
    func records(
        in space: SpaceID, of schema: ModelSchema, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreError) -> SnapshotSlice

    /// Returns the number of live records in a space by collection, without collections that have none.
    ///
    /// The store counts row by row, a million in the order of a second.
    func recordCounts(in space: SpaceID) throws(AuthorityStoreError) -> [CollectionName: Int]

    /// Returns complete commits after `version`, in order and without gaps, as many as the budget permits.
    ///
    /// The first commit is returned even if it exceeds the budget.
    func commits(
        in space: SpaceID, after version: Version, budget: PageBudget
    ) throws(AuthorityStoreError) -> [Commit]

    /// Returns complete commits with their authors, newest first and without gaps, as many as the budget permits.
    ///
    /// The first commit is returned even if it exceeds the budget.
    ///
    /// - Parameter version: only commits before this version are returned; nil begins with the newest commit.
    func recentCommits(
        in space: SpaceID, before version: Version?, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedCommit]

    /// Returns the author of a commit; nil when the commit does not exist or has been trimmed.
    func author(of version: Version, in space: SpaceID) throws(AuthorityStoreError) -> CommitAuthor?

    /// Returns the ledger of a client; `.empty` for a client that has never pushed.
    func ledger(of key: LedgerKey) throws(AuthorityStoreError) -> Ledger

    /// Returns the clients that have pushed and whose ids are greater than `client`, ordered by id.
    func clients(after client: ClientID?, limit: Int) throws(AuthorityStoreError) -> [StoredClient]

    /// Returns the number of clients that have pushed.
    func clientCount() throws(AuthorityStoreError) -> Int

    /// Returns the number of clients of an account that count as devices: those that no other client has replaced and no
    /// operator has released.
    func deviceCount(of principal: Principal) throws(AuthorityStoreError) -> Int

    /// Returns what each account has stored. An account without records is missing.
    ///
    /// The store counts row by row, a million in the order of a second.
    func usage() throws(AuthorityStoreError) -> [Principal: StoredUsage]

    /// Returns the time at which a transaction was committed as this version of its space; nil when no change feed has
    /// that commit any more.
    func commitTime(
        of number: TransactionNumber, from identity: ClientIdentity, at version: Version
    ) throws(AuthorityStoreError) -> WallTime?

    /// Returns the outcome of a transaction; nil when there is none, or when it has been forgotten.
    func outcome(of key: LedgerKey, _ number: TransactionNumber) throws(AuthorityStoreError) -> StoredOutcome?

    /// Returns the conflicts of a space after `number`, oldest first. The sizes of their values count against the budget.
    func conflicts(
        in space: SpaceID, after number: Int64, budget: PageBudget
    ) throws(AuthorityStoreError) -> [RecordedConflict]

    /// Returns the amount of stored conflicts in all spaces.
    func conflictAmount() throws(AuthorityStoreError) -> ConflictAmount

    /// Returns the number of stored conflicts of a space.
    func conflictCount(in space: SpaceID) throws(AuthorityStoreError) -> Int

    /// Returns the conflicts after `number` whose losing value was written by one of `clients`, oldest first.
    func notices(
        for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreError) -> [RecordedConflict]

    /// Returns the number of the newest conflict that `trimConflicts` has removed among those whose losing value was written
    /// by one of `clients`; 0 when there is none. All stored ones have greater numbers.
    func newestRemovedNotice(for clients: [ClientID], in space: SpaceID) throws(AuthorityStoreError) -> Int64
}

extension AuthorityView {
    /// Returns the conflicts of a space after `number`, oldest first, whatever their size.
    public func conflicts(
        in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreError) -> [RecordedConflict] {
        try conflicts(in: space, after: number, budget: PageBudget(rows: limit, bytes: .max))
    }

    public func head(of space: SpaceID) throws(AuthorityStoreError) -> Version {
        try extent(of: space).head
    }
}

/// The writes of a transaction. Later reads in the same transaction see them. See `AuthorityStore.write`.
public protocol AuthorityTransaction: AuthorityView {
    /// Stores the history and the clock, replacing the former ones. Does not change the revisions of models and members.
    func set(_ state: AuthorityState) throws(AuthorityStoreError)

    /// Stores the models with which records are written from now on. Other models than before get the next revision.
    ///
    /// - Throws: `unstorable` for models that could not be read again.
    func set(_ catalog: SchemaCatalog) throws(AuthorityStoreError)

    /// Gives a principal this role in a space, replacing the former one; nil removes the principal from the space. The
    /// members get the next revision.
    func set(_ role: SpaceRole?, of principal: Principal, in space: SpaceID) throws(AuthorityStoreError)

    /// Increments the head of the space and returns it.
    ///
    /// It is called once for each commit, after all reads for the decision, so that an implementation may lock the
    /// space here until the end of the transaction.
    func takeVersion(in space: SpaceID) throws(AuthorityStoreError) -> Version

    /// Assigns the next `count` uids of the collection, which were never assigned before, and returns the first of them.
    ///
    /// The first uid of a collection is 0. Numbers may be skipped between two calls.
    ///
    /// - Parameter count: at least 1.
    func takeUIDs(_ count: Int, in collection: CollectionName) throws(AuthorityStoreError) -> UID

    /// Stores the record, replacing the one with the same address.
    func put(_ record: StoredRecord) throws(AuthorityStoreError)

    /// Adds a live record's reference to `target` to the index of references.
    func link(_ referrer: Referrer, to target: RecordAddress) throws(AuthorityStoreError)
    /// Removes a reference to `target` from the index of references.
    func unlink(_ referrer: Referrer, from target: RecordAddress) throws(AuthorityStoreError)

    /// Appends a commit, whose version has been taken, to the change feed, with the fingerprint of the history up to
    /// it.
    func append(
        _ commit: Commit, to space: SpaceID, by author: CommitAuthor, fingerprint: HistoryFingerprint
    ) throws(AuthorityStoreError)

    /// Stores the ledger of a client, replacing the former one.
    func set(_ ledger: Ledger, of key: LedgerKey) throws(AuthorityStoreError)

    /// Stores the outcome of a transaction until `forgetOutcomes` deletes it.
    func keep(
        _ outcome: StoredOutcome, of key: LedgerKey, _ number: TransactionNumber
    ) throws(AuthorityStoreError)

    /// Deletes the outcomes of this key below `number`, except the newest of them that have at most `bytes` together. Does
    /// not change other keys.
    func forgetOutcomes(
        of key: LedgerKey, below number: TransactionNumber, keeping bytes: Int
    ) throws(AuthorityStoreError)

    /// Deletes the outcomes of a client, except those of its newest incarnations. Ledgers stay.
    ///
    /// - Parameters:
    ///   - key: the principal and the client. Its incarnation is ignored.
    ///   - count: the number of incarnations with a ledger whose outcomes stay.
    func forgetOutcomes(ofFormerIncarnationsOf key: LedgerKey, keeping count: Int) throws(AuthorityStoreError)

    /// Binds a client id, which has no owner yet, permanently to a principal.
    func bind(_ client: ClientID, to principal: Principal) throws(AuthorityStoreError)

    /// Notes which client id has replaced a client id that has an owner. With nil, the id counts as a device again.
    func mark(_ client: ClientID, replacedBy replacement: ClientID?) throws(AuthorityStoreError)

    /// Stores a conflict under the next number, which is greater than all earlier ones.
    func note(
        _ conflict: FieldConflict, in space: SpaceID, at version: Version, by author: CommitAuthor
    ) throws(AuthorityStoreError)

    /// Removes conflicts of all spaces until only the amount to keep is left, but no more than `limit` of them.
    ///
    /// The oldest conflicts of the principal with the most bytes are removed if there are too many bytes, else those of the
    /// principal with the most conflicts. A conflict belongs to the principal whose client wrote the losing value, so the
    /// many conflicts of one principal do not erase the notices of another.
    ///
    /// - Returns: the number of conflicts removed.
    func trimConflicts(keeping kept: ConflictAmount, limit: Int) throws(AuthorityStoreError) -> Int

    /// Removes the commits of the space up to and including `version` from the change feed, and moves the horizon
    /// there.
    ///
    /// Records, tombstones, outcomes, and the fingerprint at the horizon stay. A horizon never moves back, and never
    /// beyond the head.
    func trim(_ space: SpaceID, through version: Version) throws(AuthorityStoreError)
}

/// The state of a server that belongs to no single space.
public struct AuthorityState: Hashable, Sendable {
    /// The current history, which changes after a restore.
    public var history: HistoryIdentity
    /// The server's hybrid clock after its latest write.
    public var clock: HybridClock
    /// Changes with the stored models. It is 0 until the store keeps some. See `Revision`.
    public var catalogRevision: Int64
    /// Changes with the members of spaces. It is 0 until a space gets its first member. See `Revision`.
    public var memberRevision: Int64

    /// Creates the state of a server. A new server has a clock without readings.
    public init(
        history: HistoryIdentity, clock: HybridClock, catalogRevision: Int64 = 0, memberRevision: Int64 = 0
    ) {
        self.history = history
        self.clock = clock
        self.catalogRevision = catalogRevision
        self.memberRevision = memberRevision
    }

    /// The name of the current history.
    public var epoch: Epoch { history.epoch }
}

/// The maximum size of the change feed of a space.
public struct FeedBound: Hashable, Sendable {
    /// Maximum number of commits.
    public var commits: Int
    /// Maximum number of bytes of all changes, as the store counts them.
    public var bytes: Int

    /// Creates a bound. The defaults are those of a server.
    public init(commits: Int = AuthorityLimits.keptCommits, bytes: Int = AuthorityLimits.keptFeedBytes) {
        self.commits = max(commits, 0)
        self.bytes = max(bytes, 0)
    }
}

/// A number of conflicts, with the size of their values.
public struct ConflictAmount: Hashable, Sendable {
    /// The number of conflicts.
    public var conflicts: Int
    /// The size of their values in bytes, as the store counts them.
    public var bytes: Int

    /// Creates an amount. The defaults are what a server keeps of all spaces together.
    public init(conflicts: Int = AuthorityLimits.keptConflicts, bytes: Int = AuthorityLimits.keptConflictBytes) {
        self.conflicts = conflicts
        self.bytes = bytes
    }

    /// Whether it has more conflicts or more bytes than another amount.
    package func exceeds(_ other: ConflictAmount) -> Bool {
        conflicts > other.conflicts || bytes > other.bytes
    }
}

/// The maximum amount of data that one read returns.
public struct PageBudget: Hashable, Sendable {
    /// Maximum number of rows, or of changes in commits.
    public var rows: Int
    /// Maximum number of stored bytes, as the store counts them.
    public var bytes: Int

    /// Creates a budget. A read returns at least one row or commit, even if it exceeds the budget.
    public init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// Live records of one collection, ordered by id.
public struct RowSlice: Hashable, Sendable {
    /// The records with ids in increasing order, without deleted ones.
    public let records: [StoredRecord]
    /// The size of the records as counted against the budget, in bytes.
    public let bytes: Int
    /// Whether no more records of the collection follow.
    public let isComplete: Bool

    /// Creates a slice as a store has read it.
    public init(records: [StoredRecord], bytes: Int, isComplete: Bool) {
        self.records = records
        self.bytes = bytes
        self.isComplete = isComplete
    }
}

/// Live records of one collection as clients see them, ordered by id.
public struct SnapshotSlice: Hashable, Sendable {
    /// The records.
    public let rows: SnapshotRows
    /// The size of the records as counted against the budget, in bytes.
    public let bytes: Int
    /// Whether no more records of the collection follow.
    public let isComplete: Bool

    /// Creates a slice as a store has read it.
    public init(rows: SnapshotRows, bytes: Int, isComplete: Bool) {
        self.rows = rows
        self.bytes = bytes
        self.isComplete = isComplete
    }

    /// Creates a slice from the records that a store has.
    public init(_ slice: RowSlice, schema: ModelSchema) {
        let records = slice.records.map { Record($0, schema: schema) }
        self.init(
            rows: SnapshotRows(collection: schema.collection, records: records), bytes: slice.bytes,
            isComplete: slice.isComplete)
    }
}

/// A field that holds references.
public struct ReferenceField: Hashable, Sendable {
    /// The collection with the field.
    public let collection: CollectionName
    /// The name of the field.
    public let field: FieldName

    /// Creates the name of a field that holds references.
    public init(_ collection: CollectionName, _ field: FieldName) {
        self.collection = collection
        self.field = field
    }
}

/// A record that refers to another one through one of its fields.
public struct Referrer: Hashable, Sendable {
    /// The record that contains the reference.
    public let address: RecordAddress
    /// The field that contains the reference.
    public let field: FieldName

    /// Creates the place of a reference.
    public init(_ address: RecordAddress, _ field: FieldName) {
        self.address = address
        self.field = field
    }
}

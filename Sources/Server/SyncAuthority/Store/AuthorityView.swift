public import SyncModel

/// The lookups that a decision about a transaction may make.
public protocol RecordLookup {
    /// Returns the record, alive or deleted, in any space.
    func record(_ address: RecordAddress) throws(AuthorityStoreError) -> StoredRecord?

    /// Returns live records that refer to `target` through one of `fields`, field by field, ordered by id; at most
    /// `limit`.
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

    /// Returns the version through which a change feed must be trimmed to meet the bound, but not more than `limit`
    /// commits after its horizon; nil when the feed meets the bound.
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

    /// Returns the number of clients of an account that count as devices: those that no other client has replaced and
    /// no operator has released.
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

    /// Returns the conflicts of a space after `number`, oldest first. The sizes of their values count against the
    /// budget.
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

    /// Returns the number of the newest conflict that `trimConflicts` has removed among those whose losing value was
    /// written by one of `clients`; 0 when there is none. All stored ones have greater numbers.
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

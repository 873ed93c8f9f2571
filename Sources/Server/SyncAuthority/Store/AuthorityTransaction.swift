public import SyncModel

/// The writes of a transaction. Later reads in the same transaction see them. See `AuthorityStore.write`.
public protocol AuthorityTransaction: AuthorityView {
    /// Stores the history and the clock, replacing the former ones. Does not change the revisions of models and
    /// members.
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

    /// Assigns the next `count` uids of the collection, which were never assigned before, and returns the first of
    /// them.
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

    /// Deletes the outcomes of this key below `number`, except the newest of them that have at most `bytes` together.
    /// Does not change other keys.
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
    /// The oldest conflicts of the principal with the most bytes are removed if there are too many bytes, else those of
    /// the principal with the most conflicts. A conflict belongs to the principal whose client wrote the losing value,
    /// so the many conflicts of one principal do not erase the notices of another.
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

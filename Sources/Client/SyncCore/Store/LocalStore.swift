public import SyncConcurrency
public import SyncModel

/// The part of the local store that the application uses.
///
/// Each call is synchronous and is one transaction of the store: it is complete when it returns and has changed nothing
/// when it throws. All methods are safe to call from any thread. Readers never wait for a writer.
public protocol LocalStore: Sendable {
    /// The schemas of the collections that the store was opened with.
    var catalog: SchemaCatalog { get }

    /// Returns the current record, or nil when it does not exist on this device.
    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreError) -> Record?

    /// Returns the record as the server last showed it, without the pending changes of this device.
    ///
    /// Returns nil when the server's current history has not shown the record, or has deleted it.
    func shownRecord(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Record?

    /// Returns the current records that match, in the order of the query.
    ///
    /// - Throws: `unknownCollection`, or `invalidValue` when the query names a field that does not exist or compares it
    ///   with a value of another type.
    func records(matching query: RecordQuery) throws(StoreError) -> [Record]

    /// Calls `body` with each matching record and its space, in the order of the query. All records are of the same
    /// moment, but only one is in memory at a time. `body` must not use the store.
    func forEachRecord(matching query: RecordQuery, _ body: @Sendable (Record, SpaceID) -> Void) throws(StoreError)

    /// Returns the number of matching records, ignoring `limit` and `offset`.
    func count(matching query: RecordQuery) throws(StoreError) -> Int

    /// Returns the space in which a record lives, or nil when it does not exist on this device. Write its edits there.
    func space(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> SpaceID?

    /// Returns the id under which a restore of a journal entry has created a deleted record again, or nil when none
    /// has.
    ///
    /// That record may have been deleted, too.
    func replacement(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> RecordID?

    /// Returns whether any mutation of the record is unconfirmed.
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Bool

    /// Writes the edits and their outbox entry in one transaction.
    ///
    /// A record stays in its space and cannot refer to a record in another one.
    ///
    /// - Parameters:
    ///   - seen: The fields as the author of an update or delete saw them, where they may differ from those of the
    ///     database. The server then treats the edits as concurrent with what the author did not see. Values of this
    ///     device that the author did not see and that the edits replace are noted in the journal.
    ///   - now: The device's wall clock, for the timestamps of the mutations.
    /// - Returns: The transaction's place in the outbox, or nil when the edits change nothing.
    func commit(
        _ edits: [RecordEdit], seen: SeenFields, in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence?

    /// Writes several transactions, in order, and makes them durable together. Each takes effect, or fails, by itself.
    ///
    /// - Returns: For each write, what `commit(_:seen:in:now:)` would return or throw.
    func commit(_ writes: [LocalWrite], now: WallTime) -> [Result<OutboxSequence?, StoreError>]

    /// Returns a page of the outbox, oldest entry first.
    ///
    /// - Parameters:
    ///   - sequence: The entry after which the page begins; nil for the oldest.
    ///   - limit: The largest number of entries to return.
    func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreError) -> [OutboxEntry]

    /// Returns the counts of the outbox, and of the journal's active entries.
    func outboxSummary() throws(StoreError) -> OutboxSummary

    /// Returns the progress of a transaction, even after it has left the outbox.
    ///
    /// - Throws: `missingEntry` when the outbox has never had such a transaction.
    func fate(of sequence: OutboxSequence) throws(StoreError) -> TransactionFate

    /// Cancels a transaction that was never sent, and those that depend on it. Each moves to the journal.
    ///
    /// - Throws: `missingEntry` when the transaction is not in the outbox, or `entryIsFrozen` when it has been sent.
    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreError)

    /// Returns a page of the journal, newest entry first.
    ///
    /// - Parameters:
    ///   - state: Return only entries in this state; nil for all.
    ///   - number: The entry after which the page begins; nil for the newest.
    ///   - limit: The largest number of entries to return. A page of large entries may hold fewer, but at least one. An
    ///     empty page means the end of the journal.
    func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreError) -> [JournalEntry]

    /// Returns the journal entry with this number, or nil when there is none.
    func journalEntry(_ number: Int64) throws(StoreError) -> JournalEntry?

    /// Returns the number of active entries about transactions that the server rejected, or about changes that a
    /// restored server has lost.
    func rejectionCount() throws(StoreError) -> Int

    /// Writes the changes of a journal entry again, over the current records.
    ///
    /// A rejected or cancelled transaction is written again as one transaction. A lost one is written in the
    /// smallest parts that can stand alone, so that the server may reject one part and accept another. A lost part
    /// that requires a record which cannot be restored stays in the journal, in a new entry. Optional references to
    /// such a record are left out.
    ///
    /// For a merged or overwritten entry, the losing values are written over the current ones. A deleted record is
    /// created again under a new id, because ids are never reused. So are deleted records that it refers to, if their
    /// values are known.
    ///
    /// - Parameters:
    ///   - left: Changes of a lost entry that are not restored. They stay in the journal, in a new entry. If the entry
    ///     has no others, it stays as it is, and nothing is written.
    ///   - newID: Makes the id of a record.
    /// - Returns: The places of the new transactions in the outbox; empty when nothing would change.
    /// - Throws: `StoreError` with the code `missingEntry`; `entryIsFrozen` when the entry has been restored already;
    ///   `missingRecord` or `danglingReference` when the entry requires a record that is not here (the message names an
    ///   entry that creates the record, if there is one); or a code that `commit` throws.
    func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence]

    /// Writes the changes of an active journal entry again, as `restore` does.
    ///
    /// The state is checked in the transaction of the write. Of several callers, in any processes, one succeeds.
    ///
    /// - Returns: The places of the new transactions in the outbox; empty when nothing would change.
    /// - Throws: `entryIsFrozen` when the entry has been restored or dismissed already; or an error that `restore`
    ///   throws.
    func retry(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence]

    /// Writes edits in place of the changes of an active journal entry, and dismisses the entry, in one transaction.
    ///
    /// Other entries that refer to a record which the entry was to create follow it to its new id when they are
    /// restored. The edits may be empty.
    ///
    /// - Parameter seen: As for `commit(_:seen:in:now:)`.
    /// - Returns: The transaction's place in the outbox, or nil when the edits change nothing.
    /// - Throws: `missingEntry`; `entryIsFrozen` when the entry has been restored or dismissed already; or a code that
    ///   `commit` throws.
    func commit(
        _ edits: [RecordEdit], seen: SeenFields, correcting correction: JournalCorrection, in space: SpaceID,
        now: WallTime
    ) throws(StoreError) -> OutboxSequence?

    /// Returns the references that restores have left out, ordered by record. A later restore sets one only if its
    /// field has not changed since.
    func droppedReferences() throws(StoreError) -> [DroppedReference]

    /// Returns the client ids under which this device pushes and has pushed, the current one first.
    ///
    /// The stamps of the journal's conflicts name the client of each value.
    func clients() throws(StoreError) -> [ClientID]

    /// Marks a journal entry as handled. Handled entries are deleted first when the journal reaches its limits.
    func dismiss(journal number: Int64) throws(StoreError)

    /// Marks all active entries up to this number as handled, in one transaction.
    ///
    /// - Returns: The number of entries that were active.
    func dismissJournal(upTo number: Int64) throws(StoreError) -> Int

    /// Returns what the device has of each space that it follows, sorted by name.
    func followedSpaces() throws(StoreError) -> [StoredSpace]

    /// Returns the progress of the sync as the database remembers it, whichever process syncs it.
    func progress() throws(StoreError) -> StoredProgress

    /// Adds a space to those that the device keeps in sync. The next pull begins with a snapshot of it.
    ///
    /// A commit in a space follows the space, too.
    ///
    /// - Returns: False when the device follows the space already. Nothing changes then.
    @discardableResult
    func follow(_ space: SpaceID) throws(StoreError) -> Bool

    /// Removes a space from those that the device keeps in sync, with all its records, in one transaction.
    ///
    /// Handled entries about merged and overwritten values leave with the space, because they contain values of others.
    /// The journal keeps this device's rejected and cancelled transactions. Deleted data is overwritten, as by
    /// `EngineStore.vacate`.
    ///
    /// - Returns: The number of removed records; nil when the device does not follow the space. Nothing changes then.
    /// - Throws: `unsentWrites` when only this device has something of the space: transactions that the server has not
    ///   answered, active entries of the journal about lost, merged, or overwritten values or removed notices, or
    ///   records that the current history has not shown. `invalidValue` for the space `default`, which every device
    ///   follows.
    func unfollow(_ space: SpaceID) throws(StoreError) -> Int?

    /// Publishes what each commit touched, once the commit is durable. Commits of other processes arrive some
    /// milliseconds later than those of this one.
    var changes: Broadcast<StoreChange> { get }
}

extension LocalStore {
    public func forEachRecord(
        matching query: RecordQuery, _ body: @Sendable (Record, SpaceID) -> Void
    ) throws(StoreError) {
        for record in try records(matching: query) {
            // A record that is removed meanwhile has no space.
            if let space = try space(of: query.collection, record.id) { body(record, space) }
        }
    }
}

extension LocalStore {
    /// Writes edits whose author has seen all values of the database.
    @discardableResult
    public func commit(
        _ edits: [RecordEdit], in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try commit(edits, seen: [:], in: space, now: now)
    }

    /// Writes the transactions one after the other.
    public func commit(_ writes: [LocalWrite], now: WallTime) -> [Result<OutboxSequence?, StoreError>] {
        writes.map { write in
            Result { () throws(StoreError) in
                try commit(write.edits, seen: write.seen, in: write.space, now: now)
            }
        }
    }
}

extension LocalStore {
    /// Returns the oldest entries of the outbox, oldest first.
    public func outbox(limit: Int) throws(StoreError) -> [OutboxEntry] { try outbox(after: nil, limit: limit) }

    /// Returns the newest entries of the journal, newest first, as one page.
    public func journal(state: JournalEntry.State?, limit: Int) throws(StoreError) -> [JournalEntry] {
        try journal(state: state, after: nil, limit: limit)
    }

    /// Writes all changes of a journal entry again. See `restore(journal:leaving:now:newID:)`.
    public func restore(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try restore(journal: number, leaving: [], now: now, newID: newID)
    }

    /// Calls `body` with each entry of the journal, newest first, until it returns false.
    ///
    /// The journal is read page by page, so that memory does not grow with it.
    public func forEachJournalEntry(
        state: JournalEntry.State? = nil, while body: (JournalEntry) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var last: Int64?
        while true {
            let page = try journal(state: state, after: last, limit: 100)
            guard let oldest = page.last else { return }
            for entry in page {
                guard try body(entry) else { return }
            }
            last = oldest.number
        }
    }
}

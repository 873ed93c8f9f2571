public import SyncConcurrency
public import SyncModel

/// The application's face of the local cache. Each call is synchronous, and one transaction of the store: it has
/// happened when it returns, and has not when it throws. Safe to call from any thread; readers never wait for a writer.
public protocol LocalStore: Sendable {
    var catalog: SchemaCatalog { get }

    /// One current record, or nil when it does not exist here.
    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreFailure) -> Record?

    func records(matching query: RecordQuery) throws(StoreFailure) -> [Record]

    /// How many records match; `limit` and `offset` do not count.
    func count(matching query: RecordQuery) throws(StoreFailure) -> Int

    /// The space in which a record lives, and in which its edits are to be written; nil when it does not exist here.
    func space(of collection: CollectionName, _ id: RecordID) throws(StoreFailure) -> SpaceID?

    /// Whether any mutation of the record has not been confirmed.
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreFailure) -> Bool

    /// Writes the edits and their outbox entry in one transaction. Records stay in their space, and refer to none of another.
    ///
    /// - Parameter now: the device's wall clock, for the stamps.
    /// - Returns: the place of the transaction in the outbox; nil when the edits change nothing.
    func commit(_ edits: [RecordEdit], in space: SpaceID, now: WallTime) throws(StoreFailure) -> OutboxSequence?

    /// A part of the outbox, oldest first.
    ///
    /// - Parameters:
    ///   - sequence: the entry behind which the part begins; nil for the oldest.
    ///   - limit: at most so many entries.
    func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreFailure) -> [OutboxEntry]

    func outboxSummary() throws(StoreFailure) -> OutboxSummary

    func fate(of sequence: OutboxSequence) throws(StoreFailure) -> TransactionFate

    /// Takes back a transaction that was never sent, with those that depend on it: each goes to the journal.
    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreFailure)

    /// A page of the journal, newest first.
    ///
    /// - Parameters:
    ///   - state: only entries in this state; nil for all.
    ///   - number: the entry behind which the page begins; nil for the newest.
    ///   - limit: the most entries to return. A page of large entries may hold fewer, and holds one at least: the journal ends
    ///     where a page is empty.
    func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreFailure) -> [JournalEntry]

    /// Returns one entry of the journal, or nil when there is none of this number.
    func journalEntry(_ number: Int64) throws(StoreFailure) -> JournalEntry?

    /// Writes a rejected, cancelled or forgotten transaction again, over what the records are now: a forgotten one in the
    /// smallest parts that can stand alone, so that the server may refuse one and take another. An optional reference to a
    /// record that is not here is left out; what needs such a record stays in the journal, in a new entry.
    ///
    /// Of a merged or overwritten entry it writes the losing values over the current ones. A record that was deleted is made
    /// again under a new id, as ids are never used twice.
    ///
    /// - Parameter newID: makes the id of a record.
    /// - Returns: their places in the outbox; none when nothing would change.
    /// - Throws: `StoreFailure`: `missingEntry`; `entryIsFrozen` when it was sent again already;
    ///   `danglingReference` when all of it needs records that are not here; and what `commit` throws.
    func resend(
        journal number: Int64, now: WallTime, newID: @Sendable () -> RecordID
    ) throws(StoreFailure) -> [OutboxSequence]

    /// Marks a journal entry as handled. Handled entries are the first to go when the journal reaches its bounds.
    func dismiss(journal number: Int64) throws(StoreFailure)

    /// Marks all active entries up to this number as handled, in one transaction.
    ///
    /// - Returns: how many entries were active.
    func dismissJournal(upTo number: Int64) throws(StoreFailure) -> Int

    /// Tells what each commit touched, after it is durable: those of this process, and, some milliseconds later,
    /// those of others.
    var changes: Broadcast<StoreChange> { get }
}

extension LocalStore {
    /// The oldest entries of the outbox, oldest first.
    public func outbox(limit: Int) throws(StoreFailure) -> [OutboxEntry] { try outbox(after: nil, limit: limit) }

    /// The newest entries of the journal, newest first: one page.
    public func journal(state: JournalEntry.State?, limit: Int) throws(StoreFailure) -> [JournalEntry] {
        try journal(state: state, after: nil, limit: limit)
    }

    /// Calls `body` with the entries of the journal, newest first, until it returns false. Reads page by page, so that
    /// memory does not grow with the journal.
    public func forEachJournalEntry(
        state: JournalEntry.State? = nil, while body: (JournalEntry) throws(StoreFailure) -> Bool
    ) throws(StoreFailure) {
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

/// Counts of the outbox, taken in the transaction that changed it.
public struct OutboxSummary: Hashable, Sendable {
    /// Never sent.
    public var waiting: Int
    /// How many of `waiting` are held back until the server knows their collections and fields.
    public var held: Int
    /// Sent, and not answered.
    public var sent: Int
    /// Answered, and not yet shown back by a pull.
    public var answered: Int
    /// The bytes of all entries.
    public var bytes: Int
    /// Unseen entries of the journal.
    public var journal: Int

    public init(waiting: Int = 0, held: Int = 0, sent: Int = 0, answered: Int = 0, bytes: Int = 0, journal: Int = 0) {
        self.waiting = waiting
        self.held = held
        self.sent = sent
        self.answered = answered
        self.bytes = bytes
        self.journal = journal
    }

    public var count: Int { waiting + sent + answered }

    /// Whether something can be pushed.
    public var hasUnanswered: Bool { waiting - held + sent > 0 }
}

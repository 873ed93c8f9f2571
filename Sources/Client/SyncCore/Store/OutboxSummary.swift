/// Counts of the outbox and of the journal's active entries, all at one moment.
public struct OutboxSummary: Hashable, Sendable {
    /// Number of transactions that have no number, because they were not sent, or are to be sent again under another
    /// number.
    public var waiting: Int
    /// Number of `waiting` transactions that are held back until the server knows their collections and fields.
    public var held: Int
    /// Number of transactions that were sent but not answered.
    public var sent: Int
    /// Number of transactions that were answered but not yet shown back by a pull.
    public var answered: Int
    /// Size of all entries in bytes.
    public var bytes: Int
    /// Number of journal entries that are still active.
    public var activeJournalEntries: Int

    /// Creates counts, by default those of an empty outbox and journal.
    public init(
        waiting: Int = 0, held: Int = 0, sent: Int = 0, answered: Int = 0, bytes: Int = 0,
        activeJournalEntries: Int = 0
    ) {
        self.waiting = waiting
        self.held = held
        self.sent = sent
        self.answered = answered
        self.bytes = bytes
        self.activeJournalEntries = activeJournalEntries
    }

    /// Number of all transactions in the outbox, answered ones included.
    public var count: Int { waiting + sent + answered }

    /// Whether there is something to push.
    public var hasUnanswered: Bool { waiting - held + sent > 0 }
}

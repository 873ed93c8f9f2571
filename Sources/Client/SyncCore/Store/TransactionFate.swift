/// The progress of a transaction through the outbox.
public enum TransactionFate: Hashable, Sendable {
    /// The transaction is in the outbox, in this state.
    case pending(OutboxEntry.State)
    /// The server has applied it and shown it back.
    case confirmed
    /// The server has rejected it, or one that it depends on. The journal entry has the reason.
    case rejected(JournalEntry)
    /// The user cancelled it before it was sent. The journal keeps it.
    case cancelled
    /// The transaction was settled too long ago to tell whether it was confirmed: the journal no longer keeps entries
    /// of that age, or its entry was lost with a damaged database.
    case unknown
}

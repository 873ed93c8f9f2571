/// The limits of one local cache. Over a limit a write fails loudly; nothing is dropped.
public struct StoreLimits: Hashable, Sendable {
    /// Transactions that may wait for the server: months of one person's edits, and a bound on what a device owes.
    public var outboxEntries = 100_000
    /// Their bytes together: fits a phone's disk, and a few thousand pushes.
    public var outboxBytes: Int64 = 256 * 1_024 * 1_024
    /// Journal entries. Beyond this number, and beyond `journalBytes`, the oldest handled entries are deleted; entries that
    /// nobody has handled never are.
    public var journalEntries = 10_000
    /// The bytes of the journal: thousands of ordinary entries.
    public var journalBytes: Int64 = 64 * 1_024 * 1_024
    /// Unhandled journal entries. Beyond this number, and beyond `unseenJournalBytes`, new edits fail with `journalFull`
    /// (decision 22). An outbox that the server rejects whole still fits.
    public var unseenJournalEntries = 100_000
    /// The bytes of unhandled journal entries: as many as an outbox may hold.
    public var unseenJournalBytes: Int64 = 256 * 1_024 * 1_024
    /// The bytes of one page of the journal, which holds one entry at least. Bounds the memory of a reader.
    public var journalPageBytes: Int64 = 4 * 1_024 * 1_024
    /// How long to wait for another program's lock: longer than any honest transaction.
    public var busyTimeout = Duration.seconds(5)
    /// Pages in the log at which a checkpoint is due: 4 MiB, so that readers need not search a long log.
    public var checkpointPages = 1_000

    public init() {}

    /// Pages that the file of the log may keep when it is used again from its beginning: twice those of a checkpoint, so that
    /// an ordinary log is never cut only to grow again.
    var keptLogPages: Int { 2 * checkpointPages }

    /// Bytes kept of a rejection's message. One message is repeated in the entry of each dependant transaction.
    static let rejectionMessageBytes = 1_000
    /// Decoded transactions kept while one page is applied: a page touches few transactions many times.
    static let decodedTransactions = 64
    /// Prepared statements kept per connection for composed texts: more forms of queries than any screen has.
    static let composedStatements = 100
}

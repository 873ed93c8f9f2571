/// The limits of one local cache. Over a limit a write fails loudly; nothing is dropped.
public struct StoreLimits: Hashable, Sendable {
    /// Transactions that may wait for the server: months of one person's edits, and a bound on what a device owes.
    public var outboxEntries = 100_000
    /// Their bytes together: fits a phone's disk, and a few thousand pushes.
    public var outboxBytes: Int64 = 256 * 1_024 * 1_024
    /// Journal entries. Beyond them the oldest that were seen are forgotten; unseen ones never are.
    public var journalEntries = 10_000
    /// How long to wait for another program's lock: longer than any honest transaction.
    public var busyTimeout = Duration.seconds(5)
    /// Pages in the log at which a checkpoint is due: 4 MiB, so that readers need not search a long log.
    public var checkpointPages = 1_000

    public init() {}

    /// Pages that the file of the log may keep when it is used again from its beginning: twice those of a checkpoint, so that
    /// an ordinary log is never cut only to grow again.
    var keptLogPages: Int { 2 * checkpointPages }

    /// Decoded transactions kept while one page is applied: a page touches few transactions many times.
    static let decodedTransactions = 64
    /// Prepared statements kept per connection for composed texts: more forms of queries than any screen has.
    static let composedStatements = 100
}

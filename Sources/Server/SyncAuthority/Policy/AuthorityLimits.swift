import SyncModel

/// The limits of the authority. Each bounds memory, time under a lock, or the size of a response.
public enum AuthorityLimits {
    /// Maximum total size of the values in one push, in bytes: twice that of the largest transaction.
    public static let pushBytes = 2 * 1_024 * 1_024
    /// Maximum number of transactions in one push. More would only lengthen the response, which may be lost.
    public static let pushTransactions = 500
    /// Maximum number of rows or changes in one page. Beyond a thousand, the cost of a round trip is negligible.
    public static let pageRows = 1_000
    /// The number of stored bytes after which a page takes no further row or commit, and the maximum total size of the
    /// values in its notices. A page is in memory several times, on both sides.
    ///
    /// One notice always fits: it has three values of one field, of at most 1 MiB each. `SchemaLimits.recordTextBytes`
    /// contains the size of the largest page.
    public static let pageBytes = 4 * 1_024 * 1_024
    /// Maximum number of transactions, of one push or of several, that are made durable together. A larger number
    /// amortizes the flush to the disk; a smaller one shortens the wait of others for the write lock.
    public static let transactionsPerWrite = 100
    /// The time after which a push is not judged further by the application's rules, and is answered as far as it got.
    /// A device waits 30 seconds for the response, and a single transaction may take several.
    public static let reviewTime = Duration.seconds(10)
    /// The number of values in the effects of planned transactions after which a plan ends. The plan is in memory until
    /// its transactions have been judged.
    public static let plannedValues = 20_000
    /// Maximum number of times in a row that the transactions of a push are judged in vain, because others change their
    /// records meanwhile.
    public static let vainReviews = 8
    /// Maximum total size of the values in the conflicts of one transaction, in bytes.
    ///
    /// The outcome contains all of these values. It may follow other outcomes with up to `pageBytes`, and the response
    /// must fit into the 64 MiB that a client accepts. In JSON, a control character takes six bytes.
    public static let conflictBytes = 6 * 1_024 * 1_024
    /// Maximum number of pages in memory for devices that request the same page.
    public static let keptPages = 16
    /// The approximate sizes in memory of the pages that are kept, in bytes. Smaller ones cost little to make again.
    public static let keptPageBytes = 4 * 1_024...512 * 1_024
    /// Default number of commits to keep per space: months for a small space.
    public static let keptCommits = 100_000
    /// Default size of the changes to keep per space, in bytes. It only matters for large values: a commit with a
    /// change of a few short fields has some hundreds.
    public static let keptFeedBytes = 1_024 * 1_024 * 1_024
    /// Number of outcomes to keep that a client has already acknowledged.
    ///
    /// A device whose disk is restored from a backup sends transactions again that it had acknowledged after the
    /// backup. While their outcomes are kept, these transactions take effect only once, whatever has happened to their
    /// records.
    public static let keptOutcomes = 200
    /// Maximum size of the kept outcomes of transactions before the current push, in bytes, for one incarnation of a
    /// client. An outcome is only large when it has conflicts between large values, and these are stored as conflicts,
    /// too.
    public static let keptOutcomeBytes = 1_024 * 1_024
    /// Number of incarnations of a client whose outcomes are kept. A device names no more former numbers of a
    /// transaction.
    public static let keptIncarnations = SchemaLimits.formerNumbers
    /// Maximum number of outcomes to keep for one incarnation of a client, whatever it acknowledges. A device sends one
    /// push at a time, and acknowledges its outcomes with the next one, so twice the transactions of a push suffice.
    public static let mostOutcomes = 2 * pushTransactions
    /// Default number of conflicts to keep. They include notices that no device has fetched yet.
    public static let keptConflicts = 100_000
    /// Default size of the values of the conflicts to keep, in bytes.
    public static let keptConflictBytes = 1_024 * 1_024 * 1_024
    /// Maximum number of clients, besides the one whose stamp the value has, that get a notice when a value loses.
    public static let equalEdits = 16
    /// Maximum number of notices in one page. The total size of their values is bounded by `pageBytes`.
    public static let pageNotices = 100
    /// Maximum number of commits that one maintenance step removes. If they are small, the step holds the write lock
    /// for milliseconds.
    public static let trimSlice = 200
    /// Maximum number of conflicts that one maintenance step removes. They are added faster than commits.
    public static let conflictTrimSlice = 1_000
    /// The size of the conflicts after which a maintenance step removes no more, in bytes.
    public static let trimSliceBytes = 32 * 1_024 * 1_024
    /// The size by which a record counts against the limit of its account, besides its fields: its ids, versions, and
    /// indexes, in bytes.
    public static let recordBytes = 300
    /// The time after which a client should retry when its account has too many clients. The operator has to act first.
    /// A device that is started again waits with its pulls, too.
    public static let clientsRetry = Duration.seconds(60)
    /// Maximum length of a cursor, in bytes. The server never creates a longer one.
    public static let cursorBytes = 400
    /// Maximum number of members of one space.
    public static let membersPerSpace = 10_000
    /// Maximum number of members of all spaces together. Every server keeps all of them in memory, about 10 MB, and
    /// reads them again, within a second, when one of them changes.
    public static let members = 50_000
    /// Maximum number of spaces in the mark beside the database, which is then a file of 700 KB, or
    /// twice that after a restore.
    public static let markedSpaces = 4_096
    /// Maximum length of an epoch, in bytes.
    public static let epochBytes = 64
    /// The time after which a client should retry while the store is busy. It is longer than any write lock is held.
    public static let busyRetry = Duration.seconds(1)
}

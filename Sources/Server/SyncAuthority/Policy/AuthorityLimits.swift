/// The limits of the authority. Each bounds memory, time under a lock, or the size of an answer.
public enum AuthorityLimits {
    /// The bytes of all values of a push: twice those of the largest transaction.
    public static let pushBytes = 2 * 1_024 * 1_024
    /// The transactions of one push: more only lengthens the answer that may be lost.
    public static let pushTransactions = 500
    /// The rows or changes of one page: beyond a thousand the cost of a round trip no longer shows.
    public static let pageRows = 1_000
    /// The stored bytes of one page, after which no further row or commit is added: a page lies in memory several
    /// times, on both sides.
    public static let pageBytes = 4 * 1_024 * 1_024
    /// Transactions of one push that are made durable together: amortises the flush to the disk, and bounds how long
    /// others wait for the write lock.
    public static let transactionsPerWrite = 100
    /// The bytes of the values that meet in the conflicts of one transaction: its outcome tells all of them, behind at most
    /// `pageBytes` of others, and has to fit into the 64 MiB that a client takes. In JSON a control character is six bytes.
    public static let conflictBytes = 6 * 1_024 * 1_024
    /// The commits that the upkeep keeps when it is not told otherwise: months of a small space.
    public static let keptCommits = 100_000
    /// The outcomes that are kept behind the last one that a client has acknowledged. A device that is set back to a
    /// backup of its disk sends transactions again that it had acknowledged since; while the outcome is here, they take
    /// effect once whatever has happened to their records.
    public static let keptOutcomes = 200
    /// The conflicts that the upkeep keeps when it is not told otherwise: notices that no device has fetched among them.
    public static let keptConflicts = 100_000
    /// The notices of one page; their bytes are bounded by `pageBytes`, too.
    public static let pageNotices = 100
    /// The commits that the upkeep takes out of a feed at once: milliseconds under the write lock, when they are small.
    public static let trimmedCommits = 200
    /// The longest cursor that is looked at: longer ones are not ours.
    public static let cursorBytes = 400
    /// The spaces whose heads the mark beside the database holds: a file of 700 KB.
    public static let markedSpaces = 4_096
    /// The longest name of an epoch.
    public static let epochBytes = 64
    /// When to come back while the store is busy: longer than any write lock is held.
    public static let busyRetry = Duration.seconds(1)
}

/// The numbers by which the engine behaves. Each is a limit or a wait, with the reason for its default.
public struct SyncPolicy: Hashable, Sendable {
    /// How long to rest between two pulls when nothing tells of news. Short enough for a person who looks at two
    /// devices, long enough to cost nothing.
    public var pollInterval = Duration.seconds(30)
    /// The same while hints are open: they bring news at once, and polling only fixes a lost hint.
    public var pollIntervalWithHints = Duration.seconds(300)
    /// How long an answer may take. Longer than a slow mobile link needs for one page, shorter than patience. Batches and
    /// pages that come too late are cut; a transaction that is alone cannot be, and gets its upload time on top.
    public var requestDeadline = Duration.seconds(30)
    /// How long an answer to a pull may take on a link so slow that small pages came too late: a single large row at a kilobyte
    /// a second.
    public var longestDeadline = Duration.seconds(600)
    /// How long a graceful stop waits for requests on their way.
    public var stopDeadline = Duration.seconds(5)
    /// How much one push carries: large enough to amortise a round trip, small enough to be lost and sent again.
    public var batch = BatchLimit(transactions: 200, bytes: 512 * 1_024)
    /// Rows of one page: at a thousand, the cost of a transaction no longer shows.
    public var pageRows = 1_000
    /// Rows at which a page that comes too late again is given more time, and not only cut.
    public var smallestPage = 50
    public var backoff = BackoffPolicy()
    /// How long to wait before asking again when the server knows us not, or speaks another protocol: only a person
    /// can fix that, and they say so with `credentialsChanged`.
    public var refusalRetry = Duration.seconds(300)
    /// Snapshots and renewed identities in a row, without progress between them, before each waits its back-off.
    public var freeResets = 1
    /// Asks a person before a completed snapshot, or the loss of access, removes much of what the device holds.
    public var deleteBrake: DeleteBrake? = DeleteBrake(records: 50, percent: 30)
    /// Whether to listen for hints.
    public var listensForHints = true

    public init() {}

    /// The time that the slowest link that is reckoned with needs to send this much: 64 kbit/s, a poor mobile link. In
    /// whole seconds, so that small requests get none.
    public static func uploadTime(ofBytes bytes: Int) -> Duration {
        .seconds(bytes / 8_192)
    }
}

/// Exponential back-off with full jitter, taken after the cap, so that a herd does not gather at the cap.
public struct BackoffPolicy: Hashable, Sendable {
    /// The longest first wait.
    public var initial = Duration.seconds(1)
    public var factor = 2.0
    public var cap = Duration.seconds(120)
    /// No wait is shorter: a lucky draw must not make a storm.
    public var floor = Duration.milliseconds(100)
    /// A server may ask for a longer pause than the cap, but not forever.
    public var longestRetryAfter = Duration.seconds(3_600)

    public init() {}
}

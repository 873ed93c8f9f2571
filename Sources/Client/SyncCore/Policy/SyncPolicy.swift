/// The engine's limits and waits, each with the reason for its default.
public struct SyncPolicy: Hashable, Sendable {
    /// Time between two pulls while no stream of hints is open. Short enough for a person who looks at two devices,
    /// long enough to cost little.
    public var pollInterval = Duration.seconds(30)
    /// Time between two pulls while a stream of hints is open. Hints announce changes at once; polling only makes up
    /// for a lost hint.
    public var pollIntervalWithHints = Duration.seconds(300)
    /// How long a response may take: longer than a slow mobile link needs for one page, shorter than a person will
    /// wait. Batches and pages that arrive too late are made smaller. A single transaction cannot be split, so its
    /// upload time is added.
    public var requestDeadline = Duration.seconds(30)
    /// How long a response to a pull may take on a link where even small pages were too late: 600 KB at a kilobyte per
    /// second.
    public var longestDeadline = Duration.seconds(600)
    /// How long a graceful stop waits for requests in flight.
    public var stopDeadline = Duration.seconds(5)
    /// Size of one push: large enough to amortize a round trip, small enough to be lost and sent again.
    public var batch = BatchLimit(transactions: 200, bytes: 512 * 1_024)
    /// Number of rows in a page. At a thousand, the cost of a transaction is negligible.
    public var pageRows = 1_000
    /// Page size at or below which a late page also gets more time, instead of only becoming smaller.
    public var smallestPage = 50
    /// The waits after failures. Each machine counts its own failures.
    public var backoff = BackoffPolicy()
    /// How long to wait before asking again when the server refuses the credentials or speaks another protocol. Only a
    /// person can fix either; the application then calls `credentialsChanged`. If a gateway may have sent the refusal,
    /// the device retries with the normal back-off, but waits no longer than this, unless the response asked for a
    /// longer pause.
    public var refusalRetry = Duration.seconds(300)
    /// Number of immediate recoveries in a row without progress (a fresh snapshot, a renewed identity, another hello, a
    /// repeated push) before each further one waits for its back-off.
    public var freeResets = 1
    /// Requires a person's consent before a snapshot removes many of a space's records, and before the loss of access
    /// removes records that the current server has never shown; nil never asks.
    public var deleteBrake: DeleteBrake? = DeleteBrake(records: 50, percent: 30)
    /// Whether to listen for hints.
    public var listensForHints = true

    /// Creates the policy with all defaults.
    public init() {}

    /// Returns the time that the slowest supported link, a poor mobile link at 8,192 bytes a second, needs to send this
    /// much.
    ///
    /// The result is rounded down to whole seconds, so that small requests get no extra time.
    public static func uploadTime(ofBytes bytes: Int) -> Duration {
        .seconds(bytes / 8_192)
    }
}

/// Exponential back-off with full jitter. The jitter is applied after the cap, so that clients do not gather at the
/// cap.
public struct BackoffPolicy: Hashable, Sendable {
    /// Upper bound of the first wait.
    public var initial = Duration.seconds(1)
    /// The growth of the upper bound with each failure in a row.
    public var factor = 2.0
    /// Limit of the upper bound, whatever the number of failures.
    public var cap = Duration.seconds(120)
    /// Lower bound of every wait, so that small random values do not cause a retry storm.
    public var floor = Duration.milliseconds(100)
    /// A server may ask for a longer pause than `cap`, up to this limit.
    public var longestRetryAfter = Duration.seconds(3_600)

    /// Creates the policy with all defaults.
    public init() {}
}

/// The fixed numbers of the simulation itself: limits that prevent hangs and unbounded memory use, and tolerances of
/// checks.
public enum SimulationLimits {
    /// The number of jobs without advancing time after which a run counts as a livelock. A normal settle of many
    /// devices takes some thousands.
    public static let jobsPerInstant = 1_000_000
    /// The number of trace lines that a failure prints, enough to see what led to it.
    public static let printedTraceLines = 60
    /// The number of sleepers whose deadlines a failure prints.
    public static let printedSleepers = 16
    /// The number of last events that a recording keeps. A world of 500 steps has about 20,000.
    public static let recordedEvents = 400_000
    /// The number of last messages that a recording keeps. A world of 500 steps sends some thousands.
    public static let recordedMessages = 200_000
    /// The number of last steps that a recording keeps, each with the contents of every party.
    public static let recordedSteps = 10_000
    /// The length at which a text in a recording is cut off, in bytes. A diagram does not need a push of many large
    /// records in full.
    public static let recordedTextBytes = 8_192
    /// The additional time that an engine may take to stop on a slow processor, where timers are late.
    public static let stopTolerance = Duration.seconds(60)
    /// One day: the unit of long pauses, of clock errors, and of forged times. A device that is suspended during a
    /// pause of at least this length counts as sleeping for days.
    public static let day = Duration.seconds(86_400)
    /// The time after which a response from the server no longer arrives.
    public static let latestResponse = Duration.seconds(3_600)
    /// The number of outbox entries to read at once where the whole outbox is not needed.
    public static let outboxPart = 16
    /// A device with n outbox entries is checked in full only every (n / 24 + 1)th time.
    public static let outboxEntriesPerCheck = 24
    /// The number of outbox entries that a recording lists at each step. It counts the others.
    public static let recordedOutboxEntries = 100
}

/// The limits of one local store. A write that would exceed a limit throws. Only handled journal entries are deleted to
/// make room.
public struct StoreLimits: Hashable, Sendable {
    /// Maximum number of transactions in the outbox: months of one person's edits.
    public var outboxEntries = 100_000
    /// Maximum bytes of the outbox. Fits a phone's disk, and takes a few thousand pushes.
    public var outboxBytes: Int64 = 256 * 1_024 * 1_024
    /// Maximum number of journal entries. Beyond this number, or beyond `journalBytes`, the oldest handled entries are
    /// deleted. Unhandled entries are never deleted.
    public var journalEntries = 10_000
    /// Maximum bytes of the journal: thousands of ordinary entries.
    public var journalBytes: Int64 = 64 * 1_024 * 1_024
    /// Maximum number of active journal entries. At this number, or at `activeJournalBytes`, new edits fail with
    /// `journalFull` (decision 22). The default leaves room for an outbox that the server rejects entirely.
    public var activeJournalEntries = 100_000
    /// Maximum bytes of active journal entries: as many as the outbox may hold.
    public var activeJournalBytes: Int64 = 256 * 1_024 * 1_024
    /// Maximum number of active journal entries about values that others have overwritten: half of
    /// `activeJournalEntries`. At this number, or at `noticeBytes`, the device requests no further notices, which wait
    /// on the server until the user has handled some entries. Other entries always have room.
    public var noticeEntries = 50_000
    /// Maximum bytes of such entries: half of `activeJournalBytes`.
    public var noticeBytes: Int64 = 128 * 1_024 * 1_024
    /// Maximum bytes of one page of the journal. A page always holds at least one entry. Bounds a reader's memory.
    public var journalPageBytes: Int64 = 4 * 1_024 * 1_024
    /// Maximum bytes of the database. At this size, nothing more is downloaded, and local writes go on. Holds the
    /// largest space with rows of a kilobyte, and leaves room on the disks of most devices.
    public var databaseBytes: Int64 = StoreLimits.databaseBytes
    /// Longest wait for another program's lock. Longer than any regular transaction.
    public var busyTimeout = Duration.seconds(5)
    /// Pages in the WAL at which a checkpoint is due: 4 MiB, because readers have to search the WAL.
    public var checkpointPages = 1_000

    /// Creates the limits with all defaults.
    public init() {}

    /// Pages that the WAL file keeps when SQLite restarts it from the beginning. Twice the checkpoint threshold, so
    /// that an ordinary WAL is not truncated only to grow again.
    var keptWALPages: Int { 2 * checkpointPages }

    /// Pages in the WAL at which a write checkpoints by itself, because no engine has done so, as during an import.
    var longestWALPages: Int { 2 * checkpointPages }

    /// Maximum number of edited fields that are written alone. More fields have more combinations than SQLite should
    /// keep statements for, and then the whole row is written.
    static let fieldsOfPartialUpdate = 2
    /// The default of `databaseBytes`.
    package static let databaseBytes: Int64 = 16 * 1_024 * 1_024 * 1_024
    /// The bytes that a conflict takes in the database besides its values.
    static let conflictOverhead = 256
    /// Maximum bytes kept of a rejection's message. The journal entry of each dependent transaction repeats the
    /// message.
    static let rejectionMessageBytes = 1_000
    /// The largest number of things or bytes that a database can have. Sums of such numbers do not overflow.
    static let largestCount = Int64(1) << 53
    /// Number of own commits whose versions are kept, to recognize this device's values after the server was restored
    /// from a backup: months of one person's edits in a few hundred kilobytes.
    static let confirmedVersions: Int64 = 10_000
    /// The slots of these versions. Those below zero are for versions that a later history has shown again.
    static let confirmedSlots = -confirmedVersions..<confirmedVersions
    /// Maximum number of records, and of their bytes, that an entry of the journal keeps so that a restore can create
    /// them again: all that a transaction can name, and many that those require.
    static let keptRecords = 10_000
    static let keptRecordBytes = 16 * 1_024 * 1_024
    /// Maximum number of missing records for which the journal is searched when an entry cannot be restored. Each
    /// search reads the whole journal, and one found record is enough for the message.
    static let searchesForCreates = 16
    /// Maximum total length, in bytes, of the stored forms of the outbox entries that are kept decoded. Decoded, the
    /// entries take several times as much memory.
    static let decodedBytes = 32 * 1_024 * 1_024
}

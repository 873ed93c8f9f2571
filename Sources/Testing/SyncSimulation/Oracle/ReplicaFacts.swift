public import SyncModel

/// The contents of a replica's files, read with separate SQL and without the code under test.
public struct ReplicaFacts: Hashable, Sendable {
    /// The versions of a record as the server last showed it.
    public struct Base: Hashable, Sendable {
        public var version: Version
        /// The versions of the fields in the order of the schema; empty when all are equal to `version`.
        public var fields: [Version]

        public init(version: Version, fields: [Version]) {
            self.version = version
            self.fields = fields
        }
    }

    public var bases: [CollectionName: [RecordID: Base]] = [:]
    /// Descriptions of required references whose target is missing on this device, although neither record has pending
    /// changes.
    public var dangling: [String] = []
    /// The sequence of the newest transaction that was ever in the outbox; 0 when there was none.
    public var lastSequence: Int64 = 0
    public var outboxEntries = 0
    public var outboxBytes: Int64 = 0
    /// Descriptions of the stored counts of the outbox and the journal that differ from their rows.
    public var wrongCounts: [String] = []
    /// The numbers of the journal's entries, and whether each is active.
    public var journal: [Int64: Bool] = [:]
    /// The journal entries that hold only values of other devices, with their spaces.
    public var journalOfOthers: [Int64: SpaceID] = [:]
    /// For each space, the number of records that a server has shown, including those with pending changes.
    public var shown: [SpaceID: Int] = [:]
    /// The number of conflicts without a journal entry.
    public var unexpectedConflicts = 0
    /// The number of rows in each table that must be empty once everything is confirmed and shown.
    public var transients: [String: Int] = [:]
    /// The size of the WAL, in bytes.
    public var walBytes = 0

    public init() {}
}

/// The bounds on the size of a replica (I19).
public struct ReplicaBounds: Hashable, Sendable {
    public var outboxEntries: Int
    public var outboxBytes: Int64
    /// The number of journal entries above which handled entries are deleted.
    public var journalEntries: Int
    /// The maximum size of the WAL once the engine is at rest, in bytes.
    public var walBytes: Int

    public init(outboxEntries: Int, outboxBytes: Int64, journalEntries: Int, walBytes: Int) {
        self.outboxEntries = outboxEntries
        self.outboxBytes = outboxBytes
        self.journalEntries = journalEntries
        self.walBytes = walBytes
    }
}

/// Facts that were read from the server's files.
public struct AuthorityFacts: Hashable, Sendable {
    /// The latest stamp of any creation, field, equal edit, or deletion.
    public var latestStamp = HybridTime.zero

    public init() {}
}

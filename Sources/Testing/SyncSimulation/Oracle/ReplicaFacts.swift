public import SyncModel

/// The contents of a replica's files, read past the code under test with SQL of one's own.
public struct ReplicaFacts: Hashable, Sendable {
    /// Where a record stands as its server last showed it.
    public struct Base: Hashable, Sendable {
        public var version: Version
        /// In the order of the schema; empty when all are `version`.
        public var fields: [Version]
        public var isPending: Bool

        public init(version: Version, fields: [Version], isPending: Bool) {
            self.version = version
            self.fields = fields
            self.isPending = isPending
        }
    }

    public var bases: [CollectionName: [RecordID: Base]] = [:]
    /// Required references that point at no record that is here.
    public var dangling: [String] = []
    /// Of the newest transaction that was ever in the outbox; 0 when there was none.
    public var lastSequence: Int64 = 0
    public var outboxEntries = 0
    public var outboxBytes: Int64 = 0
    /// The counts that the store keeps beside the outbox, where they differ from the outbox itself.
    public var wrongCounts: [String] = []
    /// The entries of the journal by their numbers, and whether each is active.
    public var journal: [Int64: Bool] = [:]
    /// Those of them that tell what others have written, by their spaces.
    public var journalOfOthers: [Int64: SpaceID] = [:]
    /// How many records and bases there are of each space that a server has shown.
    public var shown: [SpaceID: Int] = [:]
    /// Conflicts without their entry of the journal.
    public var strayConflicts = 0
    /// How many rows there are in each table that is empty when nothing is owed and everything is shown.
    public var transients: [String: Int] = [:]
    /// Bytes of the write-ahead log.
    public var logBytes = 0

    public init() {}
}

/// How much a replica may hold (I19).
public struct ReplicaBounds: Hashable, Sendable {
    public var outboxEntries: Int
    public var outboxBytes: Int64
    /// Beyond so many entries, what was dealt with is forgotten.
    public var journalEntries: Int
    /// Of the write-ahead log, once the engine has come to rest.
    public var logBytes: Int

    public init(outboxEntries: Int, outboxBytes: Int64, journalEntries: Int, logBytes: Int) {
        self.outboxEntries = outboxEntries
        self.outboxBytes = outboxBytes
        self.journalEntries = journalEntries
        self.logBytes = logBytes
    }
}

/// The contents of the server's files.
public struct AuthorityFacts: Hashable, Sendable {
    /// The latest stamp of any field or record.
    public var latestStamp = HybridTime.zero

    public init() {}
}

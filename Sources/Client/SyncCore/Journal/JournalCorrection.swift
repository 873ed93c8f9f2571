public import SyncModel

/// The decision to write corrected changes in place of those of a journal entry.
public struct JournalCorrection: Hashable, Sendable {
    /// The number of the entry in the journal.
    public let entry: Int64
    /// The records that the entry was to create, each with the id under which the corrected changes create it, because
    /// an id is never used twice.
    public let creations: [Creation]

    /// Creates a correction.
    public init(entry: Int64, creations: [Creation] = []) {
        self.entry = entry
        self.creations = creations
    }

    /// A record under its new id.
    public struct Creation: Hashable, Sendable {
        /// The record as the entry names it.
        public let record: RecordAddress
        /// The new id of the record.
        public let id: RecordID

        /// Creates the pair of both ids.
        public init(of record: RecordAddress, as id: RecordID) {
            self.record = record
            self.id = id
        }
    }
}

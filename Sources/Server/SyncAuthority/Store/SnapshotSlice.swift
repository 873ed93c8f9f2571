public import SyncModel

/// The maximum amount of data that one read returns.
public struct PageBudget: Hashable, Sendable {
    /// Maximum number of rows, or of changes in commits.
    public var rows: Int
    /// Maximum number of stored bytes, as the store counts them.
    public var bytes: Int

    /// Creates a budget. A read returns at least one row or commit, even if it exceeds the budget.
    public init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// Live records of one collection, ordered by id.
public struct RowSlice: Hashable, Sendable {
    /// The records with ids in increasing order, without deleted ones.
    public let records: [StoredRecord]
    /// The size of the records as counted against the budget, in bytes.
    public let bytes: Int
    /// Whether no more records of the collection follow.
    public let isComplete: Bool

    /// Creates a slice as a store has read it.
    public init(records: [StoredRecord], bytes: Int, isComplete: Bool) {
        self.records = records
        self.bytes = bytes
        self.isComplete = isComplete
    }
}

/// Live records of one collection as clients see them, ordered by id.
public struct SnapshotSlice: Hashable, Sendable {
    /// The records.
    public let rows: SnapshotRows
    /// The size of the records as counted against the budget, in bytes.
    public let bytes: Int
    /// Whether no more records of the collection follow.
    public let isComplete: Bool

    /// Creates a slice as a store has read it.
    public init(rows: SnapshotRows, bytes: Int, isComplete: Bool) {
        self.rows = rows
        self.bytes = bytes
        self.isComplete = isComplete
    }

    /// Creates a slice from the records that a store has.
    public init(_ slice: RowSlice, schema: ModelSchema) {
        let records = slice.records.map { Record($0, schema: schema) }
        self.init(
            rows: SnapshotRows(collection: schema.collection, records: records), bytes: slice.bytes,
            isComplete: slice.isComplete)
    }
}

/// The outcome of a transaction. The server keeps it, so that a repeated push gets the same outcome.
public enum Outcome: Hashable, Sendable {
    /// The transaction took effect. `conflicts` lists the values that lost, those of the transaction and those of
    /// others. If there are any, the transaction was *merged*.
    case applied(version: Version, uids: [AssignedUID], conflicts: [FieldConflict])
    /// The transaction had no effect, and never will.
    case rejected(Rejection)

    /// The name of this outcome in logs: `applied`, `merged`, or `rejected`.
    public var word: String {
        switch self {
        case .applied(_, _, let conflicts): conflicts.isEmpty ? "applied" : "merged"
        case .rejected: "rejected"
        }
    }
}

/// The uid that a record got when the server first accepted the record.
public struct AssignedUID: Hashable, Sendable {
    /// The collection in which the uid is unique.
    public let collection: CollectionName
    /// The id of the record, which the client chose.
    public let record: RecordID
    /// The assigned number, 0 or more.
    public let uid: UID

    /// Creates the report of a uid that the server assigned.
    public init(collection: CollectionName, record: RecordID, uid: UID) {
        self.collection = collection
        self.record = record
        self.uid = uid
    }
}

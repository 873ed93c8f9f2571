/// Records of one collection, in the order of their ids.
public struct SnapshotRows: Hashable, Sendable {
    /// The collection of all records in the group.
    public let collection: CollectionName
    private let form: Form

    private enum Form: Sendable {
        case records([Record])
        case encoded(EncodedRows)
    }

    /// Creates a group of rows. The caller has sorted the records by id.
    public init(collection: CollectionName, records: [Record]) {
        self.collection = collection
        form = .records(records)
    }

    /// Creates a group of rows that a server has encoded as it read them from its store.
    package init(collection: CollectionName, encoded: EncodedRows) {
        self.collection = collection
        form = .encoded(encoded)
    }

    /// The records with ids in increasing order.
    public var records: [Record] {
        switch form {
        case .records(let records): records
        case .encoded(let rows): rows.records
        }
    }

    /// The number of the records.
    package var count: Int {
        switch form {
        case .records(let records): records.count
        case .encoded(let rows): rows.count
        }
    }

    /// The id of the last record; nil if there are no records.
    package var lastRecord: RecordID? {
        switch form {
        case .records(let records): records.last?.id
        case .encoded(let rows): rows.lastRecord
        }
    }

    /// The encoded form; nil if the rows were created from records.
    package var encoded: EncodedRows? {
        if case .encoded(let rows) = form { rows } else { nil }
    }

    public static func == (left: SnapshotRows, right: SnapshotRows) -> Bool {
        left.collection == right.collection && left.records == right.records
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(collection)
        hasher.combine(records)
    }
}

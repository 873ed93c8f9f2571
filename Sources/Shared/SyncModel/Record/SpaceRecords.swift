/// The records of one space in memory, as the pages of pulls show them.
///
/// Rows and changes of other collections than the given ones are ignored.
public struct SpaceRecords: Hashable, Sendable {
    private let schemas: [CollectionName: ModelSchema]
    private var records: [CollectionName: [RecordID: Record]] = [:]

    /// Begins without records, for these collections.
    public init(of models: [ModelSchema]) {
        schemas = Dictionary(models.map { ($0.collection, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The records of a collection by their ids; empty for a collection that was not given.
    public subscript(collection: CollectionName) -> [RecordID: Record] { records[collection] ?? [:] }

    /// The number of records in all collections.
    public var count: Int { records.values.reduce(0) { $0 + $1.count } }

    /// Adds the rows of a snapshot, or applies the commits in order. Records that are not in the snapshot stay.
    public mutating func apply(_ page: PullPage) {
        switch page.content {
        case .snapshot(let groups, _, _):
            for group in groups where schemas[group.collection] != nil {
                for record in group.records { records[group.collection, default: [:]][record.id] = record }
            }
        case .commits(let commits):
            for commit in commits { apply(commit) }
        }
    }

    /// Applies the changes of one commit. Updates of records that are not here change nothing.
    public mutating func apply(_ commit: Commit) {
        for change in commit.changes {
            guard let schema = schemas[change.collection] else { continue }
            records[change.collection, default: [:]][change.id] = change.applied(
                to: records[change.collection]?[change.id], at: commit.version, schema: schema)
        }
    }
}

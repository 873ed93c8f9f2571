import SyncCore
import SyncModel

/// How far a snapshot has come. Its rows grow, so that a server that shows the same ones again and again is found out, also
/// by the next process.
struct SnapshotExtent: Hashable {
    /// In the order in which they were shown. Records are shown of the last one only.
    var collections: [CollectionName] = []
    var last: RecordID?
    var rows: Int64 = 0

    /// More than this many records fit into no device that holds a space as a whole.
    static let mostRows: Int64 = 10_000_000
    /// More collections than any catalog has.
    static let mostCollections = 1_000

    /// Takes in a group of a page of `space`.
    ///
    /// - Throws: `contradiction` when its rows do not follow on those before, or are more than there can be.
    mutating func extend(by group: SnapshotRows, of space: SpaceID, head: Version) throws(StoreFailure) {
        guard !group.records.isEmpty else { return }
        if group.collection != collections.last {
            guard !collections.contains(group.collection), collections.count < Self.mostCollections else {
                throw StoreFailure(
                    .contradiction, "the snapshot of \(space) comes back to \(group.collection), which it had shown")
            }
            collections.append(group.collection)
            last = nil
        }
        for record in group.records {
            if let last, record.id <= last {
                throw StoreFailure(
                    .contradiction,
                    "the snapshot of \(space) shows \(group.collection) \(record.id) after \(last): it does not go on")
            }
            last = record.id
        }
        rows += Int64(group.records.count)
        // Each commit makes so many records at most.
        let (made, overflow) = head.rawValue.multipliedReportingOverflow(
            by: Int64(SchemaLimits.mutationsPerTransaction))
        let most = overflow ? Self.mostRows : min(made, Self.mostRows)
        guard rows <= most else {
            throw StoreFailure(
                .contradiction, "the snapshot of \(space) has shown \(rows) records, and there can be \(most) at most")
        }
    }
}

package import SyncModel

/// The progress of a snapshot.
///
/// It is stored, so that a server that keeps sending the same rows is detected even after the process restarts.
package struct SnapshotExtent: Hashable, Sendable {
    /// The collections that the snapshot has reached, in order. The next records can only belong to the last one, or to
    /// a new one.
    package private(set) var collections: [CollectionName]
    package private(set) var last: RecordID?
    package private(set) var rows: Int64

    package init(collections: [CollectionName] = [], last: RecordID? = nil, rows: Int64 = 0) {
        self.collections = collections
        self.last = last
        self.rows = rows
    }

    /// Maximum number of records in a snapshot. No device can hold a larger space.
    static let mostRows: Int64 = 10_000_000
    /// Maximum number of collections in a snapshot: more than any catalog has.
    static let mostCollections = 1_000

    /// Advances the progress by one group of a page of `space`.
    ///
    /// - Throws: `contradiction` when the rows are out of order, or when the snapshot has more rows or collections than
    ///   it can have.
    package mutating func extend(by group: SnapshotRows, of space: SpaceID, head: Version) throws(StoreError) {
        guard !group.records.isEmpty else { return }
        if group.collection != collections.last {
            guard !collections.contains(group.collection) else {
                throw StoreError(
                    .contradiction,
                    "the snapshot of \(space) returns to \(group.collection), which it has already completed")
            }
            guard collections.count < Self.mostCollections else {
                throw StoreError(
                    .contradiction, "the snapshot of \(space) has more than \(Self.mostCollections) collections")
            }
            collections.append(group.collection)
            last = nil
        }
        for record in group.records {
            if let last, record.id <= last {
                throw StoreError(
                    .contradiction,
                    "the snapshot of \(space) shows \(group.collection) \(record.id) after \(last): expected ascending ids"
                )
            }
            last = record.id
        }
        rows += Int64(group.records.count)
        // Each commit creates at most this many records.
        let (made, overflow) = head.rawValue.multipliedReportingOverflow(
            by: Int64(SchemaLimits.mutationsPerTransaction))
        let most = overflow ? Self.mostRows : min(made, Self.mostRows)
        guard rows <= most else {
            throw StoreError(
                .contradiction, "the snapshot of \(space) has shown \(rows) records; expected at most \(most)")
        }
    }
}

import SyncModel
import Testing

@Suite struct SpaceRecordsTests {
    private static let id = RecordTests.id

    private func page(_ content: PullPage.Content) -> PullPage {
        PullPage(
            space: .default, epoch: Epoch(rawValue: "first"), serverTime: .zero, content: content,
            cursor: Cursor(rawValue: "c"), version: Version(5), head: Version(5), hasMore: false)
    }

    private func commit(_ version: Int64, _ effect: RecordChange.Effect, of collection: CollectionName = "user")
        -> Commit
    {
        Commit(
            version: Version(version), changes: [RecordChange(collection: collection, id: Self.id, effect: effect)])
    }

    private func record(_ name: String, at version: Int64) -> Record {
        Record(
            id: Self.id, uid: UID(1), version: Version(version), creating: ["username": .text(name)],
            schema: RecordTests.schema)
    }

    @Test func `the commits of a feed are applied in their order`() {
        var records = SpaceRecords(of: [RecordTests.schema])
        records.apply(page(.commits([commit(1, .created(uid: UID(1), ["username": .text("ned")]))])))
        #expect(records["user"] == [Self.id: record("ned", at: 1)])
        records.apply(page(.commits([commit(2, .updated(["username": .text("ted")]))])))
        #expect(records["user"][Self.id]?.values.first == .text("ted"))
        records.apply(page(.commits([commit(3, .deleted)])))
        #expect(records.count == 0)
    }

    @Test func `a row of a snapshot that is ahead of the feed keeps its later values`() {
        var records = SpaceRecords(of: [RecordTests.schema])
        let rows = SnapshotRows(collection: "user", records: [record("later", at: 4)])
        records.apply(page(.snapshot([rows], isFirst: true, isLast: true)))
        records.apply(commit(3, .created(uid: UID(1), ["username": .text("first")])))
        records.apply(commit(3, .updated(["username": .text("second")])))
        #expect(records["user"][Self.id]?.values.first == .text("later"))
    }

    @Test func `rows and changes of other collections are ignored`() {
        var records = SpaceRecords(of: [RecordTests.schema])
        records.apply(
            page(
                .snapshot([SnapshotRows(collection: "hat", records: [record("x", at: 1)])], isFirst: true, isLast: true)
            ))
        records.apply(commit(2, .created(uid: UID(1), [:]), of: "hat"))
        #expect(records.count == 0)
    }
}

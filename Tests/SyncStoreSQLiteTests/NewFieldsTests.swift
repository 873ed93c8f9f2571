import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

/// Tests a device whose later build knows fields that the server sent to its earlier one.
@Suite(.ring(.unit)) struct NewFieldsTests {
    private static let later = SchemaCatalog([
        ModelSchema(
            collection: "users",
            fields: [.text("username", required: true, bytes: 1...64)]
                + [.text("motto"), .integer("age")])
    ])

    private static func page(_ content: PullPage.Content, to version: Int64, of epoch: Epoch) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: content,
            cursor: Cursor(rawValue: "at-\(version)"), version: Version(version), head: Version(version),
            hasMore: false, notices: [])
    }

    private static func commit(_ version: Int64, _ effect: RecordChange.Effect) -> Commit {
        Commit(
            version: Version(version), changes: [RecordChange(collection: "users", id: Samples.id(1), effect: effect)])
    }

    /// Pulls what another device wrote, and then an own edit, as an earlier build.
    private func writesAsEarlierBuild(_ store: SQLiteStore, mottoAt version: Int64) throws {
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let fields: Patch =
            version == 1 ? ["username": .text("ada"), "motto": .text("old")] : ["username": .text("ada")]
        var commits = [Self.commit(1, .created(uid: UID(7), fields))]
        if version == 2 { commits.append(Self.commit(2, .updated(["motto": .text("old")]))) }
        _ = try store.apply(
            Self.page(.commits(commits), to: version, of: epoch), after: nil, brake: nil, now: Samples.now)
        _ = try store.commit(
            [.update("users", Samples.id(1), ["username": .text("eve"), "age": .integer(40)])], in: .default,
            now: Samples.now)
        let limit = BatchLimit(transactions: 9, bytes: 100_000)
        let number = try #require(try store.takeBatch(limit, now: Samples.now)).transactions[0].number
        let own = Self.commit(version + 1, .updated(["username": .text("eve"), "age": .integer(40)]))
        _ = try store.apply(
            Self.page(.commits([own]), to: version + 1, of: epoch), after: Cursor(rawValue: "at-\(version)"),
            brake: nil,
            now: Samples.now)
        _ = try store.record(
            [
                TransactionResult(
                    number: number, outcome: .applied(version: Version(version + 1), uids: [], conflicts: []))
            ],
            of: try store.session().identity, now: Samples.now)
    }

    @Test(arguments: [1, 2] as [Int64], [false, true])
    func `a value that an earlier build did not know is not taken for one of this device`(
        mottoAt version: Int64, hasPending: Bool
    ) throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            try writesAsEarlierBuild(store, mottoAt: version)
            if hasPending {
                _ = try store.commit(
                    [.update("users", Samples.id(1), ["age": .integer(41)])], in: .default, now: Samples.now)
            }
            store.close()
        }
        let store = try scratch.open(Self.later)
        #expect(try store.record("users", .id(Samples.id(1)))?.values[1] == .text("old"))
        let restored = Epoch(rawValue: "restored")
        _ = try store.adopt(restored, as: AccountID(rawValue: "ada"))
        // The restored server has lost this device's edit, and another device has changed everything since.
        let shown = Record(
            id: Samples.id(1), uid: UID(7), version: Version(9),
            values: [.text("zoe"), .text("new"), .integer(50)])
        let rows = [SnapshotRows(collection: "users", records: [shown])]
        _ = try store.apply(
            Self.page(.snapshot(rows, isFirst: true, isLast: true), to: 9, of: restored), after: nil, brake: nil,
            now: Samples.now)
        let offered = try store.journal(state: .active, limit: 9).flatMap { entry in
            if case .lost(let transaction) = entry.event { transaction.mutations.map(\.patch) } else { [] as [Patch] }
        }
        // The user has replaced the age that is pending.
        let own: Patch = hasPending ? ["username": .text("eve")] : ["username": .text("eve"), "age": .integer(40)]
        #expect(offered == [own])
    }
}

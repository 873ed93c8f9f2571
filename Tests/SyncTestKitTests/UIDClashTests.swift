import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TestRings
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that a device that receives the same uid for two records keeps working, and does not flood the server with
/// requests.
@Suite(.ring(.unit)) struct UIDClashTests {
    private static func record(_ number: UInt64, uid: Int64) -> Record {
        let id = RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000 | number))
        return Record(
            id: id, uid: UID(uid), version: Version(1), creating: ["username": .text("user \(number)")],
            schema: UserSchema.schema)
    }

    private static func page(_ records: [Record], isFirst: Bool) -> MockStep {
        .response(
            .pull(
                .page(
                    PullPage(
                        space: .default, epoch: Epoch(rawValue: "testbed"),
                        serverTime: HybridTime(wall: WallTime(milliseconds: 1_763_728_464_000), counter: 0),
                        content: .snapshot(
                            [SnapshotRows(collection: "user", records: records)], isFirst: isFirst, isLast: false),
                        cursor: Cursor(rawValue: "planted-\(isFirst)"), version: Version(2), head: Version(2),
                        hasMore: true))))
    }

    @Test func `a uid clash in a snapshot is retried rarely, blocks no write, and recovers`() throws {
        let testbed = try SyncTestbed(models: CommunityCatalog.models)
        let (tablet, phone) = (try testbed.device("tablet"), try testbed.device("phone"))
        phone.isOnline = false
        try testbed.run { try await tablet.community.users.make(username: "Arya").create() }
        try testbed.settle()
        // In each snapshot, the second page assigns the uid of the first page's record to another record.
        for _ in 0..<9 {
            phone.server.script(
                .pull, Self.page([Self.record(1, uid: 7)], isFirst: true),
                Self.page([Self.record(2, uid: 7)], isFirst: false))
        }
        phone.isOnline = true
        try testbed.advance(by: .seconds(60))
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        try testbed.advance(by: .seconds(3_600))
        // The write was pushed in spite of the clash.
        #expect(try phone.store.outboxSummary().waiting == 0)
        let failure = try #require(try phone.store.contact().lastFailure)
        #expect(failure.code == "contradiction")
        #expect(failure.message.contains("the uid 7, which user "), "\(failure.message)")
        #expect(failure.message.contains("expected each uid once"), "\(failure.message)")
        let pulls = phone.server.log.count { if case .call(.pull, _, _) = $0 { true } else { false } }
        #expect(pulls > 4 && pulls < 150, "\(pulls) pulls in an hour")
        // The device gets the correct records with its next request.
        try testbed.settle(within: .seconds(24 * 3_600))
        #expect(try phone.store.count(matching: RecordQuery("user")) == 2)
        try testbed.finish()
    }

    @Test func `an outcome with the uid of another record is recorded, and the device recovers`() throws {
        let testbed = try SyncTestbed(models: CommunityCatalog.models)
        let (tablet, phone) = (try testbed.device("tablet"), try testbed.device("phone"))
        try testbed.run { try await tablet.community.users.make(username: "Arya").create() }
        try testbed.settle()
        phone.isOnline = false
        let arya = try #require(try phone.store.records(matching: RecordQuery("user")).first)
        try testbed.run { try await phone.community.users.make(username: "Ned").create() }
        let ned = try #require(try phone.store.records(matching: RecordQuery("user")).first { $0.id != arya.id })
        phone.server.script(
            .push,
            .response(
                .push(
                    .answered(
                        [
                            TransactionResult(
                                number: .first,
                                outcome: .applied(
                                    version: Version(2),
                                    uids: [AssignedUID(collection: "user", record: ned.id, uid: arya.uid)],
                                    conflicts: []))
                        ], epoch: Epoch(rawValue: "testbed"),
                        serverTime: HybridTime(wall: WallTime(milliseconds: 1_763_728_464_000), counter: 0)))))
        phone.isOnline = true
        try testbed.advance(by: .seconds(5))
        #expect(phone.server.remainingSteps == 0)
        #expect(try phone.store.contact().lastFailure?.code != "contradiction")
        // The planted outcome was false: the feed never contains the transaction, so the device sends it again.
        try testbed.settle(within: .seconds(24 * 3_600))
        let uids = try phone.store.records(matching: RecordQuery("user")).map(\.uid)
        #expect(uids.count == 2 && Set(uids).count == 2, "\(uids)")
        #expect(try tablet.store.count(matching: RecordQuery("user")) == 2)
        try testbed.finish()
    }
}

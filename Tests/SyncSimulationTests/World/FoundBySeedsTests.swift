import AuthorityStoreSQLite
import SyncAuthority
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import SyncTestKit
import SyncWire
import TestRings
import Testing

/// Bugs that runs of many seeds have found, each reproduced by a small scenario.
@Suite(.ring(.unit), .onWorldThreads)
struct FoundBySeedsTests {
    private let old = Epoch(rawValue: "old")
    private let new = Epoch(rawValue: "new")
    private let account = AccountID(rawValue: "ada")
    private let now = WallTime(milliseconds: 1_767_225_600_000)

    @Test func `a restored server can assign a uid that the device knows from the old history`() throws {
        let store = try makeStore()
        let (mine, other) = (id(1), id(2))
        _ = try apply(snapshot([record(mine, uid: 0, version: 1)], at: 1, of: old), to: store)
        _ = try store.adopt(new, as: account)
        _ = try apply(snapshot([record(other, uid: 0, version: 1)], at: 1, of: new), to: store)
        #expect(try store.record("customer", .uid(UID(0)))?.id == other)
        #expect(try store.record("customer", .id(mine)) == nil)
    }

    @Test func `a restored server can reassign a uid in the feed too`() throws {
        let store = try makeStore()
        let (mine, other) = (id(1), id(2))
        _ = try apply(snapshot([record(mine, uid: 0, version: 1)], at: 1, of: old), to: store)
        _ = try store.adopt(new, as: account)
        let change = RecordChange(
            collection: "customer", id: other, effect: .created(uid: UID(0), ["name": .text("b")]))
        _ = try apply(feed([Commit(version: Version(1), changes: [change])], of: new), to: store)
        #expect(try store.record("customer", .uid(UID(0)))?.id == other)
    }

    @Test func `a uid returns to its record even if the device is about to delete that record`() throws {
        let store = try makeStore()
        let (mine, other) = (id(1), id(2))
        _ = try apply(snapshot([record(other, uid: 0, version: 1)], at: 1, of: old), to: store)
        // The server confirms the delete of one record, and the create of the other with uid 1. It loses this history
        // before the device pulls it.
        _ = try store.commit([.delete("customer", other)], in: .default, now: now)
        _ = try store.commit([.create("customer", mine, ["name": .text("b")])], in: .default, now: now)
        let deletion = Outcome.applied(version: Version(2), uids: [], conflicts: [])
        try recordOutcomes(deletion, .applied(version: Version(3), uids: [uid(1, of: mine)], conflicts: []), in: store)
        _ = try store.adopt(new, as: account)
        // In the new history, uid 1 belongs to the record that the device wants to delete, and the delete is rejected.
        _ = try apply(snapshot([record(other, uid: 1, version: 1)], at: 1, of: new), to: store)
        let refusal = Outcome.rejected(Rejection(code: .forbidden, message: "no", mutation: 0))
        try recordOutcomes(refusal, .applied(version: Version(2), uids: [uid(2, of: mine)], conflicts: []), in: store)
        #expect(try store.record("customer", .uid(UID(1)))?.id == other)
        #expect(try store.record("customer", .uid(UID(2)))?.id == mine)
    }

    @Test func `a record deleted in an old history is shown again while its create is pending`() throws {
        let store = try makeStore()
        _ = try store.adopt(old, as: account)
        _ = try store.commit([.create("customer", id(1), ["name": .text("a")])], in: .default, now: now)
        let created = RecordChange(
            collection: "customer", id: id(1), effect: .created(uid: UID(0), ["name": .text("a")]))
        let deleted = RecordChange(collection: "customer", id: id(1), effect: .deleted)
        _ = try apply(
            feed(
                [
                    Commit(version: Version(1), changes: [created]),
                    Commit(version: Version(2), changes: [deleted]),
                ], of: old), to: store)
        #expect(try store.record("customer", .id(id(1))) == nil)
        _ = try store.adopt(new, as: account)
        #expect(try store.record("customer", .id(id(1)))?.values.first == .text("a"))
        #expect(try store.outboxSummary().waiting == 1)
    }

    @Test func `a page that reassigns a uid within one history is refused`() throws {
        let store = try makeStore()
        _ = try apply(snapshot([record(id(1), uid: 0, version: 1)], at: 1, of: old), to: store)
        let thief = RecordChange(collection: "customer", id: id(2), effect: .created(uid: UID(0), ["name": .text("b")]))
        let page = feed([Commit(version: Version(2), changes: [thief])], of: old)
        #expect(throws: StoreError.self) { try apply(page, to: store) }
        #expect(try store.record("customer", .uid(UID(0)))?.id == id(1))
    }

    @Test func `a record that a restored server does not have yet is not treated as deleted`() throws {
        let store = try makeStore()
        _ = try apply(snapshot([record(id(1), uid: 0, version: 1)], at: 1, of: old), to: store)
        // The server is restored while this device has a pending edit. Later, the creator of the record sends it again.
        _ = try store.commit([.update("customer", id(1), ["boats": .integer(4)])], in: .default, now: now)
        _ = try store.adopt(new, as: account)
        _ = try apply(snapshot([], at: 1, of: new), to: store)
        #expect(try store.record("customer", .id(id(1))) == nil)
        let again = RecordChange(collection: "customer", id: id(1), effect: .created(uid: UID(0), ["name": .text("a")]))
        _ = try apply(feed([Commit(version: Version(2), changes: [again])], of: new), to: store)
        let found = try store.record("customer", .id(id(1)))
        #expect(found?.values[0] == .text("a"))
        #expect(found?.values[1] == .integer(4))
    }

    @Test func `a snapshot that is older than the data before a reset is refused`() throws {
        let store = try makeStore()
        _ = try apply(snapshot([record(id(1), uid: 0, version: 4)], at: 4, of: old), to: store)
        try store.resetCursor(of: .default)
        try store.resetCursor(of: .default)
        let failure = #expect(throws: StoreError.self) {
            try apply(snapshot([], at: 3, of: old), to: store)
        }
        #expect(failure?.message.contains("after version 4 was shown") == true)
        #expect(failure?.message.contains("syncd epoch renew") == true)
        #expect(try store.record("customer", .id(id(1))) != nil)
        _ = try apply(snapshot([], at: 4, of: old), to: store)
        #expect(try store.record("customer", .id(id(1))) == nil)
        // A new history may start at any version.
        _ = try store.adopt(new, as: account)
        _ = try apply(snapshot([], at: 1, of: new), to: store)
    }

    @Test(.ring(.test), arguments: 0..<16 as Range<UInt64>)
    func `data that a server serves after a crash during a commit survives the next power loss`(
        seed: UInt64
    ) throws {
        var heads: [Version] = []
        // Kills the server in each sync of the commit in turn.
        for skip in 0..<20 {
            let disk = SimulatedDisk(seed: seed)
            try serve(disk) { authority in
                disk.plan(DiskFault(.sync, of: .wal, skip: skip, effect: .kill))
                do {
                    _ = try authority.push(try request(), by: principal, now: now)
                    #expect(disk.faultCount == 0)
                } catch is AuthorityError {
                    #expect(disk.faultCount == 1)
                }
            }
            guard disk.faultCount > 0 else { break }
            var shown = Version.zero
            try serve(disk) { shown = try head(of: $0) }
            disk.losePower(seed: seed)
            try serve(disk) { authority in
                let kept = try head(of: authority)
                #expect(kept >= shown, "clients were shown version \(shown), of which \(kept) is left")
            }
            heads.append(shown)
        }
        // A process killed in the last sync has written the whole commit.
        #expect(heads.last == Version(1), "\(heads)")
    }

    // MARK: Found by the users' oracle

    // In these scenarios, the loss of a value was not reported to its author, or was reported twice.

    /// The pending edit hides the other device's name of version 7, so the delete may claim only version 6.
    @Test func `a delete does not claim to have seen a value that a pending edit hides`() throws {
        let store = try makeStore()
        _ = try store.adopt(old, as: account)
        _ = try apply(snapshot([record(id(1), uid: 0, version: 4)], at: 4, of: old), to: store)
        _ = try store.commit([.update("customer", id(1), ["name": .text("mine")])], in: .default, now: now)
        let theirs = RecordChange(
            collection: "customer", id: id(1), effect: .updated(["name": .text("theirs"), "boats": .integer(2)]))
        _ = try apply(feed([Commit(version: Version(7), changes: [theirs])], of: old, from: 4), to: store)
        #expect(try store.record("customer", .id(id(1)))?.values[0] == .text("mine"))
        _ = try store.commit([.delete("customer", id(1))], in: .default, now: now)
        let delete = try #require(try store.outbox(limit: 10).last?.transaction.mutations.last)
        #expect(delete.intent == .delete(seen: Version(6)))
    }

    @Test func `an edit of a pending record claims to have seen only the values that are shown`() throws {
        let store = try makeStore()
        _ = try store.adopt(old, as: account)
        _ = try store.commit([.create("customer", id(1), ["name": .text("mine")])], in: .default, now: now)
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: now)
        let theirs = RecordChange(
            collection: "customer", id: id(1),
            effect: .created(uid: UID(0), ["name": .text("theirs"), "boats": .integer(2)]))
        _ = try apply(feed([Commit(version: Version(1), changes: [theirs])], of: old), to: store)
        let edit: Patch = ["name": .text("mine, too"), "boats": .integer(3)]
        _ = try store.commit([.update("customer", id(1), edit)], in: .default, now: now)
        guard case .update(let edits)? = try store.outbox(limit: 10).last?.transaction.mutations.last?.intent else {
            Issue.record("the edit is not in the outbox")
            return
        }
        // The device shows the other device's value of `boats`, but its own value of `name`.
        #expect(edits.first { $0.field == "name" }?.seen == .zero)
        #expect(edits.first { $0.field == "boats" }?.seen == Version(1))
    }

    @Test(arguments: [true, false])
    func `a device learns what a copy of its database has overwritten, whichever one has a new client id`(
        hasNewID: Bool
    ) throws {
        let store = try makeStore()
        var session = try store.adopt(old, as: account)
        let former = session.identity.client
        if hasNewID { session = try store.renewIdentity(as: ClientID(bits: Identifier128(high: 9, low: 9))) }
        // Either the device has taken a new client id, or it and its copy still share one.
        let conflict = FieldConflict(
            collection: "customer", record: id(1), field: "name", base: .text("a"),
            winner: Contender(value: .text("copy's"), stamp: Stamp(time: HybridTime(wall: now), client: former)),
            loser: Contender(value: .text("mine"), stamp: Stamp(time: .zero, client: session.identity.client)),
            rule: .latestEdit)
        let notice = ConflictNotice(number: 1, version: Version(1), conflict: conflict)
        _ = try apply(feed([], of: old, notices: [notice]), to: store)
        #expect(try store.journal(state: .active, limit: 10).map(\.event) == [.overwritten([conflict], deleted: nil)])
    }

    @Test func `a notice does not repeat a conflict that the push outcome has reported`() throws {
        let store = try makeStore()
        let session = try store.adopt(old, as: account)
        _ = try store.commit([.create("customer", id(1), ["name": .text("mine")])], in: .default, now: now)
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: now)
        let client = session.identity.client
        let conflict = FieldConflict(
            collection: "customer", record: id(1), field: "name", base: .null,
            winner: Contender(value: .text("mine"), stamp: Stamp(time: HybridTime(wall: now), client: client)),
            loser: Contender(value: .text("of another incarnation"), stamp: Stamp(time: .zero, client: client)),
            rule: .latestEdit)
        try recordOutcomes(.applied(version: Version(1), uids: [uid(0, of: id(1))], conflicts: [conflict]), in: store)
        let notice = ConflictNotice(number: 1, version: Version(1), conflict: conflict)
        _ = try apply(feed([], of: old, notices: [notice]), to: store)
        #expect(try store.journal(state: .active, limit: 10).map(\.event) == [.merged([conflict])])
    }

    @Test func `the outcome of a push does not repeat a conflict that a notice has already reported`() throws {
        let store = try makeStore()
        let session = try store.adopt(old, as: account)
        _ = try store.commit([.create("customer", id(1), ["name": .text("mine")])], in: .default, now: now)
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: now)
        let conflict = FieldConflict(
            collection: "customer", record: id(1), field: "name", base: .null,
            winner: Contender(
                value: .text("theirs"),
                stamp: Stamp(time: HybridTime(wall: now), client: ClientID(bits: Identifier128(high: 1, low: 2)))),
            loser: Contender(
                value: .text("mine"), stamp: Stamp(time: .zero, client: session.identity.client)),
            rule: .latestEdit)
        let notice = ConflictNotice(number: 1, version: Version(1), conflict: conflict)
        _ = try apply(feed([], of: old, notices: [notice]), to: store)
        try recordOutcomes(.applied(version: Version(1), uids: [uid(0, of: id(1))], conflicts: [conflict]), in: store)
        #expect(try store.journal(state: .active, limit: 10).map(\.event) == [.overwritten([conflict], deleted: nil)])
    }

    /// A device whose clock was set back can give several edits the same stamp.
    @Test func `a conflict with a different losing value is reported even if its stamps repeat`() throws {
        let store = try makeStore()
        let session = try store.adopt(old, as: account)
        _ = try store.commit([.create("customer", id(1), ["name": .text("mine")])], in: .default, now: now)
        func conflict(_ value: String) -> FieldConflict {
            FieldConflict(
                collection: "customer", record: id(1), field: "name", base: .null,
                winner: Contender(
                    value: .text("theirs"),
                    stamp: Stamp(time: HybridTime(wall: now), client: ClientID(bits: Identifier128(high: 1, low: 2)))),
                loser: Contender(value: .text(value), stamp: Stamp(time: .zero, client: session.identity.client)),
                rule: .latestEdit)
        }
        let notices = ["first", "second", "first"].enumerated().map { index, value in
            ConflictNotice(number: Int64(index) + 1, version: Version(Int64(index) + 1), conflict: conflict(value))
        }
        _ = try apply(feed([], of: old, notices: notices), to: store)
        #expect(
            try store.journal(state: .active, limit: 10).map(\.event) == [
                .overwritten([conflict("second")], deleted: nil), .overwritten([conflict("first")], deleted: nil),
            ])
    }

    // MARK: The device's side
    private func makeStore() throws -> SQLiteStore {
        var random = SeededRandom(seed: 1)
        let store = try SimulatedDisk(seed: 1).makeProcess().openStore(now: now, random: &random)
        try store.follow(.default)
        _ = try store.adopt(old, as: account)
        return store
    }

    /// Applies a page as a response to a pull from the store's current cursor.
    private func apply(_ page: PullPage, to store: SQLiteStore) throws -> ApplyResult {
        try store.apply(page, after: try store.session().spaces.first?.cursor, brake: nil, now: now)
    }

    /// Takes a batch, and records the outcomes for all of its transactions.
    private func recordOutcomes(_ outcomes: Outcome..., in store: SQLiteStore) throws {
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 10, bytes: 100_000), now: now))
        try #require(batch.transactions.count == outcomes.count)
        let results = zip(batch.transactions, outcomes).map { TransactionResult(number: $0.number, outcome: $1) }
        _ = try store.record(results, of: batch.identity, now: now)
    }

    private func uid(_ uid: Int64, of record: RecordID) -> AssignedUID {
        AssignedUID(collection: "customer", record: record, uid: UID(uid))
    }

    private func id(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0x019B_0000_0000_7000, low: 0x8000_0000_0000_0000 | number))
    }

    private func record(_ id: RecordID, uid: Int64, version: Int64) -> Record {
        var values = Array(repeating: FieldValue.null, count: WorldCatalog.catalog["customer"]?.fields.count ?? 0)
        values[0] = .text("a")
        return Record(id: id, uid: UID(uid), version: Version(version), values: values)
    }

    private func snapshot(_ records: [Record], at version: Int64, of epoch: Epoch) -> PullPage {
        let rows = records.isEmpty ? [] : [SnapshotRows(collection: "customer", records: records)]
        return page(.snapshot(rows, isFirst: true, isLast: true), version, epoch)
    }

    private func feed(
        _ commits: [Commit], of epoch: Epoch, from first: Int64 = 0, notices: [ConflictNotice] = []
    ) -> PullPage {
        // The versions in between belong to commits that change nothing in this test.
        let others = (first + 1)..<max(commits.first?.version.rawValue ?? 0, first + 1)
        let quiet = first == 0 ? [] : others.map { Commit(version: Version($0), changes: []) }
        return page(.commits(quiet + commits), commits.last?.version.rawValue ?? 0, epoch, notices)
    }

    private func page(
        _ content: PullPage.Content, _ version: Int64, _ epoch: Epoch, _ notices: [ConflictNotice] = []
    ) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: HybridTime(wall: now), content: content,
            cursor: Cursor(rawValue: "\(epoch) \(version)"), version: Version(version), head: Version(version),
            hasMore: false, notices: notices)
    }

    // MARK: The server's side

    private let principal = Principal(name: "device0")

    private func serve(_ disk: SimulatedDisk, _ body: (Authority) throws -> Void) throws {
        let process = disk.makeProcess()
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: process.uri(for: "/authority.sqlite"), newHistory: .fixed(old))
        try body(Authority(store: store, catalog: WorldCatalog.catalog))
        process.kill()
    }

    private func request() throws -> PushRequest {
        let mutation = Mutation(
            collection: "customer", record: id(1), time: HybridTime(wall: now), intent: .create(["name": .text("a")]))
        let transaction = Transaction(space: .default, mutations: [mutation])
        let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)
        return PushRequest(
            identity: identity, epoch: old, acknowledged: .first,
            transactions: [
                NumberedTransaction(
                    number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
            ])
    }

    private func head(of authority: Authority) throws -> Version {
        let response = try authority.pull(
            PullRequest(space: .default, cursor: nil, limit: 10), by: principal, now: now)
        let page: PullPage? = if case .page(let page) = response { page } else { nil }
        return try #require(page, "\(response)").head
    }
}

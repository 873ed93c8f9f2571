import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// Limits on the amount of data that a server can make a device store.
@Suite struct ServerBoundTests {
    private static let epoch = Epoch(rawValue: "first")
    private static let ada = AccountID(rawValue: "ada")

    private static func page(
        _ changes: [RecordChange], at version: Int64, of epoch: Epoch = epoch, notices: [ConflictNotice] = []
    ) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: .zero,
            content: .commits(
                changes.isEmpty ? [] : [Commit(version: Version(version), changes: changes)]),
            cursor: Cursor(rawValue: "at-\(version)"), version: Version(version), head: Version(version),
            hasMore: false, notices: notices)
    }

    private static func pull(_ page: PullPage, into store: SQLiteStore) throws {
        let cursor = try store.session().spaces.first?.cursor
        _ = try store.apply(page, after: cursor, brake: nil, now: Samples.now)
    }

    @Test func `a database at its bound takes no more pages, and still takes edits`() throws {
        let scratch = try Scratch()
        let bound: Int64 = 400_000
        let store = try scratch.open { $0.limits.databaseBytes = bound }
        _ = try store.adopt(Self.epoch, as: Self.ada)
        try store.follow(.default)
        var version: Int64 = 0
        do throws(StoreError) {
            while version < 1_000 {
                let changes = (0..<100).map { number in
                    RecordChange(
                        collection: "users", id: Samples.id(UInt64(version * 100 + number)),
                        effect: .created(uid: UID(version * 100 + number), ["username": .text("ada")]))
                }
                try StoreError.typed { try Self.pull(Self.page(changes, at: version + 1), into: store) }
                version += 1
            }
            Issue.record("a hundred thousand records fit into \(bound) bytes")
        } catch {
            #expect(error.code == .databaseFull)
            #expect(error.advice == .makeRoom)
            #expect(error.message.contains("store.database-bytes"), "\(error.message)")
        }
        let size = try RawDatabase(scratch.file).run(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        let bytes = try #require(size.first.flatMap(Int64.init))
        #expect(bytes >= bound && bytes < bound + 200_000, "\(bytes)")
        // A page without changes is still accepted.
        try Self.pull(Self.page([], at: version), into: store)
        _ = try store.commit([Samples.create(5_000_000)], in: .default, now: Samples.now)
        #expect(try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: Samples.now) != nil)
    }

    @Test func `the limit on conflicts counts the bytes of each stored conflict`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.noticeBytes = 10_000 }
        _ = try store.adopt(Self.epoch, as: Self.ada)
        try store.follow(.default)
        try Self.pull(Self.page([], at: 0), into: store)
        let own = try store.session().identity.client
        for round in 0..<9 {
            let notices = (0..<50).map { place in
                let number = Int64(round * 50 + place + 1)
                let loser = Stamp(time: HybridTime(rawValue: UInt64(number)), client: own)
                return ConflictNotice(
                    number: number, version: Version(1),
                    conflict: FieldConflict(
                        collection: "users", record: Samples.id(1), field: "age", base: .null,
                        winner: Contender(value: .integer(1), stamp: Stamp(time: .zero, client: own)),
                        loser: Contender(value: .integer(2), stamp: loser), rule: .latestEdit))
            }
            try Self.pull(Self.page([], at: 0, notices: notices), into: store)
        }
        #expect(try store.session().waitsForRoomInJournal)
        // The 50 conflicts of the first page exceed the limit, so the store takes none of the later pages.
        #expect(try RawDatabase(scratch.file).run("SELECT count(*) FROM sync_conflict") == ["50"])
    }

    @Test func `with a full journal, a device compares nothing with a restored server`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.activeJournalEntries = 2 }
        _ = try store.adopt(Self.epoch, as: Self.ada)
        try store.follow(.default)
        let created = RecordChange(
            collection: "users", id: Samples.id(1), effect: .created(uid: UID(1), ["username": .text("ada")]))
        try Self.pull(Self.page([created], at: 1), into: store)
        let number = try #require(try store.commit([Samples.create(2)], in: .default, now: Samples.now))
        let other = try #require(try store.commit([Samples.create(3)], in: .default, now: Samples.now))
        for sequence in [number, other] { try store.cancel(sequence, now: Samples.now) }

        let restored = Epoch(rawValue: "second")
        _ = try store.adopt(restored, as: Self.ada)
        let snapshot = PullPage(
            space: .default, epoch: restored, serverTime: .zero, content: .snapshot([], isFirst: true, isLast: true),
            cursor: Cursor(rawValue: "restored"), version: Version(1), head: Version(1), hasMore: false)
        let error = #expect(throws: StoreError.self) { try Self.pull(snapshot, into: store) }
        #expect(error?.code == .journalFull)
        #expect(try store.record("users", .id(Samples.id(1))) != nil)
        #expect(try store.dismissJournal(upTo: 1) == 1)
        try Self.pull(snapshot, into: store)
        #expect(try store.record("users", .id(Samples.id(1))) == nil)
        guard case .lost? = try store.journal(state: .active, limit: 1).first?.event else {
            Issue.record("the lost record is not offered")
            return
        }
    }
}

import SimulationRecipes
import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

/// SQLite's work for one record must not depend on the number of other records. If a statement scanned a whole table, a
/// device that was offline for a long time would hold the database lock for minutes.
@Suite(.ring(.check)) struct WorkTests {
    /// A stage of a device's use. Each stage needs some of the earlier ones, whose work is not measured.
    enum Stage: CaseIterable {
        case written, edited, pushed, answered, confirmed, firstSnapshot, laterSnapshot, rejected, lost, restored, read
    }

    @Test(arguments: Stage.allCases)
    func `the work per record does not grow with the number of records`(stage: Stage) throws {
        let growth = try SQLiteWork.Growth(from: 300, times: 4) { try Self.steps(in: stage, of: $0) }
        #expect(growth.factor <= 1.25, "\(growth)")
    }

    private static func steps(in stage: Stage, of count: Int) throws -> [String: Int] {
        let scratch = try Scratch()
        let work = SQLiteWork(file: scratch.file)
        let device = Device(store: try scratch.open { $0.connections = .exclusive }, count: count)
        defer { device.store.close() }
        for stage in before(stage) { try device.run(stage) }
        _ = work.take()
        try device.run(stage)
        return work.take()
    }

    @Test func `the work to reject a transaction grows linearly with the number of edits that depend on it`() throws {
        let growth = try SQLiteWork.Growth(from: 100, times: 4) { count in
            let scratch = try Scratch()
            let work = SQLiteWork(file: scratch.file)
            let store = try scratch.open { $0.connections = .exclusive }
            defer { store.close() }
            _ = try store.adopt(Epoch(rawValue: "first"), as: AccountID(rawValue: "ada"))
            for number in [1, 2] as [UInt64] {
                _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
            }
            _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: Samples.now)
            // The edits alternate between two records. The store joins an edit only to the newest entry, which here
            // changes the other record.
            for number in 0..<count {
                for id in [1, 2] as [UInt64] {
                    let edit = RecordEdit.update("users", Samples.id(id), ["age": .integer(Int64(number))])
                    _ = try store.commit([edit], in: .default, now: Samples.now)
                }
            }
            _ = work.take()
            let rejection = Outcome.rejected(Rejection(code: .forbidden, message: "no", mutation: 0))
            _ = try store.record(
                [TransactionResult(number: .first, outcome: rejection)], of: try store.session().identity,
                now: Samples.now)
            #expect(try store.outboxSummary().activeJournalEntries == count + 1)
            return work.take()
        }
        #expect(growth.factor <= 1.25, "\(growth)")
    }

    @Test func `a rejection reads each sent transaction once, however many records it shares with them`() throws {
        func readings(edits count: Int) throws -> Int {
            let scratch = try Scratch()
            let work = SQLiteWork(file: scratch.file)
            let store = try scratch.open { $0.connections = .exclusive }
            defer { store.close() }
            _ = try store.adopt(Epoch(rawValue: "first"), as: AccountID(rawValue: "ada"))
            let ids = (0..<count).map { UInt64($0) }
            // Each is sent before the next one is written, so that the next one does not join it.
            let commits: [[RecordEdit]] =
                [ids.map { Samples.create($0) }]
                + (1...3).map { age in
                    ids.map { .update("users", Samples.id($0), ["age": .integer(Int64(age))]) }
                }
            for (sent, edits) in commits.enumerated() {
                _ = try store.commit(edits, in: .default, now: Samples.now)
                _ = try store.takeBatch(BatchLimit(transactions: sent + 1, bytes: .max), now: Samples.now)
            }
            _ = work.take()
            let rejection = Outcome.rejected(Rejection(code: .forbidden, message: "no", mutation: 0))
            _ = try store.record(
                [TransactionResult(number: .first, outcome: rejection)], of: try store.session().identity,
                now: Samples.now)
            return work.take().filter { $0.key.contains("FROM sync_outbox WHERE sequence") }.values.reduce(0, +)
        }
        #expect(try readings(edits: 80) == readings(edits: 20))
    }

    @Test func `a first copy reads each entry of an import once, although each page touches all of them`() throws {
        let growth = try SQLiteWork.Growth(from: 5, times: 4) { transactions in
            let scratch = try Scratch()
            let work = SQLiteWork(file: scratch.file)
            let store = try scratch.open { $0.connections = .exclusive }
            defer { store.close() }
            let epoch = Epoch(rawValue: "first")
            _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
            try store.follow(.default)
            let creates = 60
            for transaction in 1...transactions {
                // The ids of a transaction are spread over all pages.
                let edits = (0..<creates).map { Samples.create(UInt64($0 * transactions + transaction), "user \($0)") }
                _ = try store.commit(edits, in: .default, now: Samples.now)
            }
            _ = work.take()
            let last = Int64(transactions)
            for page in 0..<transactions {
                let records = (1...creates).map { place in
                    let number = UInt64(page * creates + place)
                    return Record(
                        id: Samples.id(number), uid: UID(Int64(number)), version: Version(last),
                        creating: ["username": .text("theirs \(number)")], schema: Samples.users)
                }
                let rows = SnapshotRows(collection: "users", records: records)
                _ = try store.apply(
                    PullPage(
                        space: .default, epoch: epoch, serverTime: .zero,
                        content: .snapshot([rows], isFirst: page == 0, isLast: page == transactions - 1),
                        cursor: Cursor(rawValue: "\(page)"), version: Version(last), head: Version(last),
                        hasMore: page < transactions - 1),
                    after: page == 0 ? nil : Cursor(rawValue: "\(page - 1)"), brake: nil, now: Samples.now)
            }
            return work.take().filter { $0.key.contains("FROM sync_outbox WHERE sequence") }
        }
        #expect(growth.factor <= 1.25, "\(growth)")
    }

    @Test func `an edit writes only its fields, and reads the state of the device only after another program's write`()
        throws
    {
        let scratch = try Scratch()
        let work = SQLiteWork(file: scratch.file)
        let store = try scratch.open()
        defer { store.close() }
        let other = try scratch.open()
        defer { other.close() }
        func statements(editing number: UInt64) throws -> Set<String> {
            _ = work.take()
            _ = try store.commit(
                [.update("users", Samples.id(number), ["age": .integer(7)])], in: .default, now: Samples.now)
            return Set(work.take().keys)
        }
        for number in [1, 2, 3] as [UInt64] {
            _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
        }
        let second = try statements(editing: 1)
        #expect(second.contains(#"UPDATE "users" SET "age" = ? WHERE sync_row = ?"#), "\(second)")
        #expect(!second.contains { $0.contains("FROM sync_meta") || $0.contains("FROM sync_space") }, "\(second)")

        _ = try other.commit([Samples.create(4)], in: .default, now: Samples.now)
        let third = try statements(editing: 2)
        #expect(third.contains { $0.contains("FROM sync_meta") }, "\(third)")
        #expect(third.contains { $0.contains("FROM sync_space") }, "\(third)")
        #expect(try store.outbox(after: nil, limit: 10).map(\.sequence.rawValue) == [1, 2, 3, 4, 5, 6])
    }

    private static func before(_ stage: Stage) -> [Stage] {
        switch stage {
        case .written: []
        case .edited, .pushed, .firstSnapshot: [.written]
        case .answered, .rejected: [.written, .pushed]
        case .confirmed, .laterSnapshot: [.written, .pushed, .answered]
        case .read: [.written, .pushed, .answered, .confirmed]
        case .lost: [.written, .pushed, .answered, .confirmed, .edited]
        case .restored: [.written, .pushed, .answered, .confirmed, .lost]
        }
    }
}

/// A device, and the responses of a server with `count` users.
private struct Device {
    let store: SQLiteStore
    let count: Int
    private let account = AccountID(rawValue: "ada")
    private let epoch = Epoch(rawValue: "first")
    private let restored = Epoch(rawValue: "restored")

    init(store: SQLiteStore, count: Int) {
        self.store = store
        self.count = count
    }

    func run(_ stage: WorkTests.Stage) throws {
        switch stage {
        case .written:
            for number in 0..<count { try commit(Samples.create(UInt64(number), "user \(number)")) }
        case .edited:
            for number in 0..<count {
                try commit(.update("users", Samples.id(UInt64(number)), ["age": .integer(Int64(number))]))
            }
        case .pushed:
            _ = try store.adopt(epoch, as: account)
            _ = try store.takeBatch(BatchLimit(transactions: count, bytes: .max), now: Samples.now)
        case .answered:
            try response { number in
                let uid = AssignedUID(collection: "users", record: Samples.id(number), uid: UID(Int64(number)))
                return .applied(version: Version(Int64(number) + 1), uids: [uid], conflicts: [])
            }
        case .rejected:
            try response { _ in .rejected(Rejection(code: .forbidden, message: "no", mutation: 0)) }
        case .confirmed:
            for part in parts(of: 0..<count) {
                let commits = part.map { number in
                    let effect = RecordChange.Effect.created(
                        uid: UID(Int64(number)), ["username": .text("user \(number)")])
                    let change = RecordChange(collection: "users", id: Samples.id(UInt64(number)), effect: effect)
                    return Commit(version: Version(Int64(number) + 1), changes: [change])
                }
                try show(.commits(commits), at: part.upperBound, of: epoch)
            }
        case .firstSnapshot, .laterSnapshot:
            _ = try store.adopt(epoch, as: account)
            try snapshot(of: epoch, 0..<count)
        case .lost:
            // The restored server has only the second half of the users, and has given them the uids of the first half.
            _ = try store.adopt(restored, as: account)
            try snapshot(of: restored, count / 2..<count)
        case .restored:
            for entry in try store.journal(state: .active, limit: count) {
                _ = try store.restore(
                    journal: entry.number, now: Samples.now,
                    newID: { RecordID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_0000)) })
            }
        case .read:
            for number in 0..<count {
                _ = try store.record("users", .id(Samples.id(UInt64(number))))
                _ = try store.record("users", .uid(UID(Int64(number))))
                _ = try store.isPending("users", Samples.id(UInt64(number)))
            }
        }
    }

    private func commit(_ edit: RecordEdit) throws {
        _ = try store.commit([edit], in: .default, now: Samples.now)
    }

    private func response(_ outcome: (UInt64) -> Outcome) throws {
        let identity = try store.session().identity
        for part in parts(of: 0..<count) {
            let results = part.map { number in
                TransactionResult(number: TransactionNumber(Int64(number)), outcome: outcome(UInt64(number)))
            }
            _ = try store.record(results, of: identity, now: Samples.now)
        }
    }

    private func snapshot(of epoch: Epoch, _ numbers: Range<Int>) throws {
        for part in parts(of: numbers) {
            let records = part.map { number in
                Record(
                    id: Samples.id(UInt64(number)), uid: UID(Int64(number - numbers.lowerBound)), version: Version(1),
                    values: [.text("user \(number)"), .null])
            }
            let isFirst = part.lowerBound == numbers.lowerBound
            let isLast = part.upperBound == numbers.upperBound
            let rows = SnapshotRows(collection: "users", records: records)
            try show(.snapshot([rows], isFirst: isFirst, isLast: isLast), at: count, of: epoch)
        }
    }

    private func show(_ content: PullPage.Content, at version: Int, of epoch: Epoch) throws {
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: content, cursor: Cursor(rawValue: "\(version)"),
            version: Version(Int64(version)), head: Version(Int64(count)), hasMore: version < count)
        try store.follow(.default)
        let cursor = try store.session().spaces.first?.cursor
        _ = try store.apply(page, after: cursor, brake: nil, now: Samples.now)
    }

    private func parts(of numbers: Range<Int>) -> [Range<Int>] {
        stride(from: numbers.lowerBound, to: numbers.upperBound, by: 50).map { $0..<min($0 + 50, numbers.upperBound) }
    }
}

import Dispatch
import SyncConcurrency
import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// Behavior that is specific to this store: its limits, its change notifications, and its threads.
@Suite struct StoreBehaviourTests {
    @Test func `a write to a full outbox is refused with an explanation`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.outboxEntries = 2 }
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        do throws(StoreError) {
            _ = try store.commit([Samples.create(3)], in: .default, now: Samples.now)
            Issue.record("the write was accepted")
        } catch {
            #expect(error.code == .outboxFull)
            #expect(error.advice == .makeRoom)
        }
        #expect(try store.record("users", .id(Samples.id(3))) == nil)
        #expect(try store.outboxSummary().waiting == 2)
    }

    @Test func `a write of a fast clock keeps its age after the clock is corrected, if a server has shown the error`()
        throws
    {
        let error = Duration.seconds(400 * 86_400)
        for isKnown in [true, false] {
            let scratch = try Scratch()
            let store = try scratch.open()
            if isKnown { try store.observe(HybridTime(wall: Samples.now), now: Samples.now.advanced(by: error)) }
            _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now.advanced(by: error))
            let later = Samples.now.advanced(by: .seconds(10))
            let batch = try #require(try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: later))
            #expect(batch.transactions.map(\.age) == [isKnown ? .seconds(10) : .zero])
        }
    }

    @Test func `the outbox is bounded in bytes`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.outboxBytes = 1_000 }
        do throws(StoreError) {
            for number in 0..<100 {
                _ = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
            }
            Issue.record("a hundred writes fit into a thousand bytes")
        } catch {
            #expect(error.code == .outboxFull)
        }
        let bytes = try store.outboxSummary().bytes
        #expect(bytes > 500 && bytes <= 1_000)
    }

    @Test func `a journal over its limit deletes only entries that have been handled`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.journalEntries = 3 }
        for number in 0..<6 {
            let written = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
            let sequence = try #require(written)
            try store.cancel(sequence, now: Samples.now)
            if number == 0 || number == 2 { try store.dismiss(journal: Int64(number) + 1) }
        }
        #expect(try store.journal(state: nil, limit: 10).map(\.number) == [6, 5, 4, 2])
        // A transaction whose journal entry was deleted is not reported as confirmed.
        #expect(try store.fate(of: OutboxSequence(rawValue: 3)) == .unknown)
        #expect(try store.fate(of: OutboxSequence(rawValue: 2)) == .cancelled)
        #expect(try store.outboxSummary().activeJournalEntries == 4)
    }

    /// Cancels the creation of a user, which adds an active journal entry of about 150 bytes.
    private static func fillJournal(_ store: SQLiteStore, _ number: Int) throws {
        let written = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
        try store.cancel(try #require(written), now: Samples.now)
    }

    @Test func `a journal over its byte limit deletes only the oldest handled entries`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.journalBytes = 1_000 }
        for number in 1...12 { try Self.fillJournal(store, number) }
        #expect(try store.journal(state: nil, limit: 20).count == 12)
        for number in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as [Int64] { try store.dismiss(journal: number) }
        let numbers = try store.journal(state: nil, limit: 20).map(\.number)
        #expect(numbers.first == 12 && numbers.count < 8, "\(numbers)")
        #expect(numbers == Array((13 - Int64(numbers.count)...12).reversed()))
        let bytes = try RawDatabase(scratch.file).run(
            "SELECT sum(bytes) = journal_bytes, sum(bytes) <= 1000, count(*) = journal_entries FROM sync_journal, sync_meta"
        )
        #expect(bytes == ["1|1|1"])
        #expect(try store.outboxSummary().activeJournalEntries == 1)
    }

    /// The edit of one small field must not copy whole records beyond the bounds of the journal.
    @Test func `a full journal keeps a rejected edit without the records that it changes`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.activeJournalBytes = 1 }
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let ids = (1...2).map { Samples.id($0) }
        let rows = ids.enumerated().map { index, id in
            Record(id: id, uid: UID(Int64(index)), version: Version(1), values: [.text("ada"), .null])
        }
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: .zero,
            content: .snapshot([SnapshotRows(collection: "users", records: rows)], isFirst: true, isLast: true),
            cursor: Cursor(rawValue: "1"), version: Version(1), head: Version(1), hasMore: false)
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
        // The second entry finds the journal full.
        for number in 0..<2 {
            _ = try store.commit([.update("users", ids[number], ["age": .integer(3)])], in: .default, now: Samples.now)
        }
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 9, bytes: .max), now: Samples.now))
        for transaction in batch.transactions {
            let rejection = Rejection(code: .forbidden, message: "no", mutation: 0)
            let result = TransactionResult(number: transaction.number, outcome: .rejected(rejection))
            _ = try store.record([result], of: batch.identity, now: Samples.now)
        }
        let entries = try store.journal(state: nil, limit: 9)
        #expect(entries.map { $0.records?.mutations.count } == [nil, 1])
    }

    @Test(arguments: [true, false])
    func `too many unhandled journal entries block new edits, but not the server's outcomes`(byBytes: Bool) throws {
        let scratch = try Scratch()
        let store = try scratch.open {
            if byBytes { $0.limits.activeJournalBytes = 200 } else { $0.limits.activeJournalEntries = 2 }
        }
        _ = try store.adopt(Epoch(rawValue: "first"), as: AccountID(rawValue: "ada"))
        _ = try store.commit([Samples.create(100)], in: .default, now: Samples.now)
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: Samples.now)
        for number in 1...2 { try Self.fillJournal(store, number) }
        do throws(StoreError) {
            _ = try store.commit([Samples.create(3)], in: .default, now: Samples.now)
            Issue.record("a third entry was accepted")
        } catch {
            #expect(error.code == .journalFull)
            #expect(error.message.contains("2 unhandled entries"), "\(error.message)")
        }
        let rejection = Rejection(code: .forbidden, message: String(repeating: "é", count: 5_000), mutation: 0)
        let result = TransactionResult(number: .first, outcome: .rejected(rejection))
        _ = try store.record([result], of: try store.session().identity, now: Samples.now)
        #expect(try store.outboxSummary().activeJournalEntries == 3)
        guard case .rejected(_, let noted)? = try store.journalEntry(3)?.event else {
            Issue.record("entry 3 is not a rejection")
            return
        }
        #expect(noted.message.utf8.count == 1_000)
        // Restoring an entry is allowed, because it frees space in the journal.
        #expect(try store.restore(journal: 3, now: Samples.now, newID: { Samples.id(99) }).count == 1)
        #expect(try store.dismissJournal(upTo: 1) == 1)
        #expect(try store.dismissJournal(upTo: .max) == 1)
        #expect(try store.dismissJournal(upTo: .max) == 0)
        _ = try store.commit([Samples.create(3)], in: .default, now: Samples.now)
        let counts = "SELECT active_journal_entries, active_journal_bytes FROM sync_meta"
        #expect(try RawDatabase(scratch.file).run(counts) == ["0|0"])
    }

    @Test func `of two decisions about one entry, the second writes nothing`() throws {
        let scratch = try Scratch()
        let (store, other) = (try scratch.open(Samples.catalog), try scratch.open(Samples.catalog))
        let correction = JournalCorrection(entry: 1)
        func correct(_ store: SQLiteStore, _ name: String) throws -> OutboxSequence? {
            try store.commit(
                [Samples.create(2, name)], seen: [:], correcting: correction, in: .default, now: Samples.now)
        }
        let missing = #expect(throws: StoreError.self) { _ = try correct(store, "none") }
        #expect(missing?.code == .missingEntry)
        let sequence = try #require(try store.commit([Samples.create(1)], in: .default, now: Samples.now))
        try store.cancel(sequence, now: Samples.now)
        #expect(try correct(store, "first") != nil)
        for _ in 0..<2 {
            let second = #expect(throws: StoreError.self) { _ = try correct(other, "second") }
            #expect(second?.code == .entryIsFrozen)
            let third = #expect(throws: StoreError.self) {
                _ = try other.retry(journal: 1, now: Samples.now, newID: { Samples.id(9) })
            }
            #expect(third?.code == .entryIsFrozen && third?.message.contains("dismissed") == true)
        }
        #expect(try other.count(matching: RecordQuery("users")) == 1)
        #expect(try other.journal(state: nil, limit: 9).map(\.state) == [.dismissed])
        for store in [store, other] { store.close() }
    }

    @Test func `journal pages are bounded in bytes and follow each other without gaps`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.journalPageBytes = 600 }
        for number in 1...9 { try Self.fillJournal(store, number) }
        let page = try store.journal(state: .active, limit: 9)
        #expect(page.count > 1 && page.count < 9)
        var numbers: [Int64] = []
        try store.forEachJournalEntry { entry in
            numbers.append(entry.number)
            return true
        }
        #expect(numbers == Array((1...9).reversed()))
    }

    /// The store stays open during the check, because a program that is killed never closes it. The test runs with and
    /// without reader connections.
    @Test(arguments: [StoreConfiguration.Connections.pool(readers: 2), .single])
    func `no data of a vacated space remains in the files`(connections: StoreConfiguration.Connections) throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.connections = connections }
        defer { store.close() }
        try Self.showSecrets(to: store)
        try store.checkpoint()
        #expect(try scratch.holds(Self.secret))
        // Some builds of SQLite enable secure_delete by default.
        _ = try store.setting("secure_delete = OFF")
        try Self.vacate(store)
        #expect(try store.setting("secure_delete") == "0")
        #expect(try !scratch.holds(Self.secret))
    }

    @Test(arguments: [StoreConfiguration.Connections.pool(readers: 2), .single])
    func `a checkpoint after the reader has ended removes the data of a vacated space from the WAL`(
        connections: StoreConfiguration.Connections
    ) throws {
        let scratch = try Scratch()
        let store = try scratch.open {
            $0.connections = connections
            $0.limits.busyTimeout = .zero
        }
        defer { store.close() }
        try Self.showSecrets(to: store)
        let reader = try RawDatabase(scratch.file)
        try reader.run("BEGIN; SELECT count(*) FROM users")
        try Self.vacate(store)
        #expect(try scratch.holds(Self.secret))
        try store.checkpoint()
        #expect(try scratch.holds(Self.secret))
        try reader.run("COMMIT")
        try store.checkpoint()
        #expect(try !scratch.holds(Self.secret))
        // Nothing is left to remove, so a checkpoint that is not due does not change the WAL.
        let size = try scratch.walSize()
        try store.checkpoint()
        #expect(try scratch.walSize() == size)
    }

    private static let secret = "secret of the space"
    private static let epoch = Epoch(rawValue: "epoch")

    private static func vacate(_ store: SQLiteStore) throws {
        guard case .vacated(let vacated) = try store.vacate(.default, of: epoch, brake: nil, now: Samples.now) else {
            Issue.record("braked")
            return
        }
        #expect(vacated.removedRecords == 2_000)
    }

    private static func showSecrets(to store: SQLiteStore) throws {
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        let records = (1...2_000).map { number in
            Record(
                id: Samples.id(UInt64(number)), uid: UID(Int64(number)), version: Version(1),
                values: [.text("\(secret), number \(number)"), .integer(1)])
        }
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: .zero,
            content: .snapshot([SnapshotRows(collection: "users", records: records)], isFirst: true, isLast: true),
            cursor: Cursor(rawValue: "1"), version: Version(2), head: Version(2), hasMore: false)
        try store.follow(.default)
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
        // The pending edit makes the store keep a base of this record, which contains the server's data.
        _ = try store.commit([.update("users", Samples.id(7), ["age": .integer(2)])], in: .default, now: Samples.now)
    }

    @Test func `each commit reports what it changed, and a refused commit reports nothing`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        try store.follow(.default)
        var changes = store.changes.subscribe().makeAsyncIterator()
        _ = try? store.commit(
            [.update("users", Samples.id(9), ["age": .integer(1)])], in: .default, now: Samples.now)
        _ = try store.commit([Samples.create(1), Samples.create(2)], in: .default, now: Samples.now)
        var news = await changes.next()
        #expect(
            news
                == StoreChange(extents: ["users": .records([Samples.id(1), Samples.id(2)])], addsToOutbox: true))
        _ = try store.takeBatch(BatchLimit(transactions: 9, bytes: 9_999), now: Samples.now)
        news = await changes.next()
        #expect(news == StoreChange(touchesOutbox: true))
    }

    @Test func `a snapshot of one space does not change the others`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let epoch = Epoch(rawValue: "e")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        func page(_ space: SpaceID, _ ids: [UInt64], at version: Int64) -> PullPage {
            let records = ids.map {
                Record(id: Samples.id($0), uid: UID(Int64($0)), version: Version(1), values: [.text("u"), .null])
            }
            return PullPage(
                space: space, epoch: epoch, serverTime: .zero,
                content: .snapshot([SnapshotRows(collection: "users", records: records)], isFirst: true, isLast: true),
                cursor: Cursor(rawValue: "c"), version: Version(version), head: Version(version), hasMore: false)
        }
        for space: SpaceID in ["family", "work"] { try store.follow(space) }
        _ = try store.apply(page("family", [1, 2], at: 1), after: nil, brake: nil, now: Samples.now)
        _ = try store.apply(page("work", [3, 4], at: 1), after: nil, brake: nil, now: Samples.now)
        try store.resetCursor(of: "work")
        _ = try store.apply(page("work", [3], at: 2), after: nil, brake: nil, now: Samples.now)
        let ids = try store.records(matching: RecordQuery("users")).map(\.id)
        #expect(ids == [1, 2, 3].map { Samples.id($0) })
        #expect(try store.session().spaces.map(\.space) == ["family", "work"])
    }

    @Test func `an outcome with the uid of another record is recorded without it, and its page is a contradiction`()
        throws
    {
        let scratch = try Scratch()
        let store = try scratch.open()
        let epoch = Epoch(rawValue: "e")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        func page(_ content: PullPage.Content, _ cursor: String, at version: Int64) -> PullPage {
            PullPage(
                space: .default, epoch: epoch, serverTime: .zero, content: content, cursor: Cursor(rawValue: cursor),
                version: Version(version), head: Version(version), hasMore: false)
        }
        let shown = Record(id: Samples.id(1), uid: UID(7), version: Version(1), values: [.text("ada"), .null])
        let first = page(
            .snapshot([SnapshotRows(collection: "users", records: [shown])], isFirst: true, isLast: true), "1", at: 1)
        _ = try store.apply(first, after: nil, brake: nil, now: Samples.now)
        _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        _ = try store.takeBatch(BatchLimit(transactions: 9, bytes: 9_999), now: Samples.now)
        let uid = AssignedUID(collection: "users", record: Samples.id(2), uid: UID(7))
        let summary = try store.record(
            [
                TransactionResult(
                    number: .first, outcome: .applied(version: Version(2), uids: [uid], conflicts: []))
            ], of: store.session().identity, now: Samples.now)
        #expect(summary.answered == 1)
        #expect(try store.record("users", .id(Samples.id(1)))?.uid == UID(7))
        #expect(try store.record("users", .id(Samples.id(2)))?.uid.isValid == false)
        let change = RecordChange(
            collection: "users", id: Samples.id(2), effect: .created(uid: UID(7), ["username": .text("u")]))
        let second = page(.commits([Commit(version: Version(2), changes: [change])]), "2", at: 2)
        let failure = #expect(throws: StoreError.self) {
            try store.apply(second, after: Cursor(rawValue: "1"), brake: nil, now: Samples.now)
        }
        #expect(failure?.code == .contradiction)
        #expect(
            failure?.message
                == "the server gives users \(Samples.id(2)) the uid 7, which users \(Samples.id(1)) has; expected each uid once"
        )
    }

    @Test func `readers see only complete commits while a writer runs`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        _ = try store.commit([Samples.create(1), Samples.create(2)], in: .default, now: Samples.now)
        let torn = Guarded(0)
        DispatchQueue.concurrentPerform(iterations: 4) { worker in
            for round in 0..<100 {
                if worker == 0 {
                    let age = FieldValue.integer(Int64(round))
                    let edits: [RecordEdit] = [1, 2].map { .update("users", Samples.id($0), ["age": age]) }
                    _ = try? store.commit(edits, in: .default, now: Samples.now)
                } else {
                    let ages = try? store.records(matching: RecordQuery("users")).map { $0.values[1] }
                    if ages == nil || Set(ages ?? []).count != 1 { torn.withLock { $0 += 1 } }
                }
            }
        }
        #expect(torn.withLock { $0 } == 0)
        #expect(try store.record("users", .id(Samples.id(2)))?.values[1] == .integer(99))
    }

    @Test func `negative zero is stored as zero in the record and in the outbox`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(
            SchemaCatalog([ModelSchema(collection: "notes", fields: [.real("scale")])]))
        _ = try store.commit(
            [.create("notes", Samples.id(1), ["scale": .real(-0.0)])], in: .default, now: Samples.now)
        #expect(try store.record("notes", .id(Samples.id(1)))?.values == [.real(0)])
        #expect(
            try store.outbox(limit: 1).first?.transaction.mutations.first?.patch == ["scale": .real(0)])
    }

    @Test(arguments: [[], [1], [0, 127, 128, 300, Int64.max]])
    func `field versions from a page are stored unchanged`(versions: [Int64]) throws {
        let scratch = try Scratch()
        let fields = (0..<max(versions.count, 1)).map { FieldSchema.integer(FieldName(unchecked: "f\($0)")) }
        let store = try scratch.open(SchemaCatalog([ModelSchema(collection: "notes", fields: fields)]))
        let epoch = Epoch(rawValue: "e")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        let record = Record(
            id: Samples.id(1), uid: UID(0), version: Version(.max),
            values: Array(repeating: .integer(1), count: fields.count), fieldVersions: versions.map { Version($0) })
        try store.follow(.default)
        _ = try store.apply(
            PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    [SnapshotRows(collection: "notes", records: [record])], isFirst: true, isLast: true),
                cursor: Cursor(rawValue: "c"), version: Version(.max), head: Version(.max), hasMore: false),
            after: nil, brake: nil, now: Samples.now)
        #expect(try store.record("notes", .id(Samples.id(1))) == record)
    }
}

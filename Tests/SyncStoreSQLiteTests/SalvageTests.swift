import Foundation
import SQLiteDatabase
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing

/// A salvage keeps everything that can still be read from a damaged database, and reports the rest as lost.
@Suite struct SalvageTests {
    /// Makes 300 writes and sends 12 of them: 2 are rejected, 2 are applied but not yet pulled, and 8 are in flight.
    private static func fill(_ store: SQLiteStore) throws {
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        for number in UInt64(1)...300 {
            _ = try store.commit([Samples.create(number, "user \(number)")], in: .default, now: Samples.now)
        }
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 4, bytes: .max), now: Samples.now))
        let rejection = Rejection(code: .forbidden, message: "not for you", mutation: 0)
        let results = batch.transactions.enumerated().map { index, transaction in
            TransactionResult(
                number: transaction.number,
                outcome: index < 2 ? .rejected(rejection) : .applied(version: Version(7), uids: [], conflicts: []))
        }
        _ = try store.record(results, of: try store.session().identity, now: Samples.now)
        _ = try store.takeBatch(BatchLimit(transactions: 8, bytes: .max), now: Samples.now)
        // This gives the space a cursor. Its row then has almost the same column types as an outbox entry, so a salvage
        // might mistake it for one.
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: HybridTime(wall: Samples.now, counter: 0),
            content: .commits([]), cursor: Cursor(rawValue: "c0"), version: .zero, head: Version(7), hasMore: false)
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
    }

    private static let epoch = Epoch(rawValue: "first")

    /// The bytes and the contents of a database filled by `fill(_:)`.
    private struct Original {
        let bytes: [UInt8]
        let outbox: [OutboxEntry]
        let journal: [JournalEntry]
        let session: StoredSession

        init() throws {
            let scratch = try Scratch()
            let store = try scratch.open { $0.connections = .single }
            try fill(store)
            try store.checkpointNow()
            outbox = try store.outbox(after: nil, limit: 1_000)
            journal = try store.journal(state: nil, limit: 1_000)
            session = try store.session()
            store.close()
            bytes = Array(try Data(contentsOf: URL(filePath: scratch.file)))
        }
    }

    private static let original = Result { try Original() }

    /// Writes a database file to the folder, with its WAL if there is one, salvages it, and opens the new database.
    private static func salvage(
        _ bytes: [UInt8], wal: [UInt8]? = nil, in scratch: Scratch
    ) throws -> (report: SalvageReport, store: SQLiteStore) {
        try Data(bytes).write(to: URL(filePath: scratch.file))
        if let wal { try Data(wal).write(to: URL(filePath: scratch.file + "-wal")) }
        var random = SeededRandom(seed: 7)
        let report = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: Samples.catalog, now: Samples.now, random: &random)
        #expect(Array(try Data(contentsOf: URL(filePath: report.keptFile))) == bytes, "the damaged file is kept whole")
        return (report, try scratch.open { $0.connections = .single })
    }

    @Test func `salvaging an undamaged database keeps everything that only this device has`() throws {
        let original = try Self.original.get()
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(original.bytes, in: scratch)
        #expect(report.identity == .kept(original.session.identity))
        #expect(report.account == original.session.account)
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count, lost: 0))
        #expect(report.journal == SalvageReport.Count(saved: 2, lost: 0))
        #expect(report.perhapsSent == 0)
        #expect(try store.outbox(after: nil, limit: 1_000) == original.outbox)
        #expect(try store.journal(state: nil, limit: 1_000) == original.journal)
        let session = try store.session()
        #expect(session.identity == original.session.identity)
        #expect(session.epoch == Self.epoch)
        #expect(session.outbox == original.session.outbox)
        #expect(session.spaces.allSatisfy { $0.cursor == nil && !$0.isComplete })
        // Records created on this device are kept. Records of the server return with the next sync.
        #expect(try store.record("users", .id(Samples.id(200)))?.id == Samples.id(200))
        try store.verify()
        #expect(scratch.names.filter { $0.contains("salvage") } == [])
        // Outbox numbers continue after the last one.
        let next = try #require(try store.commit([Samples.create(900)], in: .default, now: Samples.now))
        #expect(next.rawValue == 301)
    }

    @Test(.ring(.test)) func `a damaged page loses at most the writes on it, and each loss is reported`() throws {
        let original = try Self.original.get()
        let pages = original.bytes.count / 4_096
        #expect(pages > 50)
        let damaged = stride(from: 0, to: pages, by: TestRing.sample(9, 1))
        var lossy = 0
        var renewed = 0
        for page in damaged {
            var bytes = original.bytes
            let fill: UInt8 = page % 2 == 0 ? 0 : 0xA5
            for offset in page * 4_096..<(page + 1) * 4_096 { bytes[offset] = fill }
            let scratch = try Scratch()
            let (report, store) = try Self.salvage(bytes, in: scratch)
            defer { store.close() }
            let missing = try Self.missing(from: store, report, "page \(page + 1)")
            #expect(missing < 30, "page \(page + 1) costs \(missing) writes")
            // The journal offers the values of lost writes. The salvage takes them from the rows of the records, which
            // are on other pages.
            let offers = try Self.offers(of: store)
            let saved = Set(try store.outbox(after: nil, limit: 1_000).map(\.sequence))
            for entry in original.outbox where !saved.contains(entry.sequence) {
                for mutation in entry.transaction.mutations where offers[mutation.record] != mutation.patch {
                    Issue.record("page \(page + 1): the lost write of \(mutation.record) is not offered")
                }
            }
            #expect(report.offered == offers.count, "page \(page + 1)")
            if missing > 0 { lossy += 1 }
            if case .renewed = report.identity { renewed += 1 }
            try store.verify()
        }
        // More than half of the pages have no outbox entries: they hold records, indexes, the journal, and the schema.
        let count = Array(damaged).count
        #expect(lossy < count / 2, "\(lossy) of \(count) pages cost writes")
        #expect(lossy > TestRing.sample(0, 10) && renewed >= lossy - 1, "\(lossy), \(renewed)")
    }

    /// Returns the lost values that the journal offers, by record.
    private static func offers(of store: SQLiteStore) throws -> [RecordID: Patch] {
        var offers: [RecordID: Patch] = [:]
        for entry in try store.journal(state: .active, limit: 1_000) {
            guard case .lost(let transaction) = entry.event else { continue }
            for mutation in transaction.mutations { offers[mutation.record] = mutation.patch }
        }
        return offers
    }

    /// Compares the store with the original and returns the number of missing writes.
    private static func missing(from store: SQLiteStore, _ report: SalvageReport, _ place: String) throws -> Int {
        let original = try Self.original.get()
        let saved = try store.outbox(after: nil, limit: 1_000)
        #expect(report.outbox.saved == saved.count)
        let known = Dictionary(uniqueKeysWithValues: original.outbox.map { ($0.sequence, $0.transaction) })
        for entry in saved where known[entry.sequence] != entry.transaction {
            Issue.record("\(place): entry \(entry.sequence) was never written so")
        }
        let missing = original.outbox.count - saved.count
        if let lost = report.outbox.lost {
            #expect(lost == missing, "\(place)")
        } else {
            // If the number of writes is unknown, the report says that the identity is unreadable.
            #expect(report.identity == .unreadable(now: try store.session().identity), "\(place)")
        }
        if missing > 0, let sequence = Set(known.keys).subtracting(saved.map(\.sequence)).first {
            // If the salvage cannot tell which numbers were used, `fate(of:)` throws for this one.
            let fate = try? store.fate(of: sequence)
            #expect(fate == .unknown || fate == nil, "\(place): a lost write is \(String(describing: fate))")
        }
        return missing
    }

    @Test(arguments: [0, 1, 99, 100, 4_095, 4_096, 8_192, 40_000, 100_000, 150_001])
    func `a truncated file yields the writes that remain in it`(length: Int) throws {
        let original = try Self.original.get()
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(Array(original.bytes.prefix(length)), in: scratch)
        _ = try Self.missing(from: store, report, "\(length) bytes")
        try store.verify()
    }

    @Test(
        arguments: TestRing.sample(
            [(0, 16), (18, 2), (60, 4), (100, 3_996)],
            [(0, 100), (0, 16), (16, 2), (18, 2), (24, 76), (60, 4), (68, 4), (100, 8), (100, 3_996)]))
    func `losing the header or the whole of page 1 loses no write`(place: (start: Int, count: Int)) throws {
        let original = try Self.original.get()
        var bytes = original.bytes
        for offset in place.start..<place.start + place.count { bytes[offset] = 0 }
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count, lost: 0))
        #expect(report.identity == .kept(original.session.identity))
        #expect(try store.outbox(after: nil, limit: 1_000) == original.outbox)
    }

    @Test(.ring(.test)) func `a few changed bytes never abort a salvage or lose a write without a report`()
        throws
    {
        let original = try Self.original.get()
        let known = Dictionary(uniqueKeysWithValues: original.outbox.map { ($0.sequence, $0.transaction) })
        var random = SeededRandom(seed: 3)
        for _ in 0..<TestRing.sample(10, 30) {
            var bytes = original.bytes
            for _ in 0..<4 {
                bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(truncatingIfNeeded: random.next() | 1)
            }
            let scratch = try Scratch()
            let (report, store) = try Self.salvage(bytes, in: scratch)
            let saved = try store.outbox(after: nil, limit: 1_000)
            #expect(report.outbox.saved == saved.count)
            if let lost = report.outbox.lost {
                #expect(saved.count + lost >= original.outbox.count)
            } else {
                #expect(report.identity == .unreadable(now: try store.session().identity))
            }
            // A changed byte inside a value gives another valid value, which no salvage can detect.
            let changed = saved.filter { known[$0.sequence] != $0.transaction }
            #expect(changed.count <= 4, "\(changed)")
            try store.verify()
            store.close()
        }
    }

    @Test func `writes that are only in the WAL are saved, also beside a file that is empty`() throws {
        let source = try Scratch()
        let store = try source.open { $0.connections = .single }
        try Self.fill(store)
        let written = try store.outbox(after: nil, limit: 1_000)
        // The files are read while the store is open, because closing it would checkpoint the WAL.
        let file = Array(try Data(contentsOf: URL(filePath: source.file)))
        let wal = Array(try Data(contentsOf: URL(filePath: source.file + "-wal")))
        #expect(wal.count > 100_000)
        for bytes in [file, []] {
            let scratch = try Scratch()
            let (report, saved) = try Self.salvage(bytes, wal: wal, in: scratch)
            #expect(report.outbox == SalvageReport.Count(saved: written.count, lost: 0))
            #expect(try saved.outbox(after: nil, limit: 1_000) == written)
            #expect(Array(try Data(contentsOf: URL(filePath: report.keptFile + "-wal"))) == wal)
        }
        store.close()
    }

    @Test(.timeLimit(.minutes(1)), arguments: [0, 3, 40, 300])
    func `the models are found although a frame of the WAL has the number of a page far behind the end`(
        frame: Int
    ) throws {
        let source = try Scratch()
        let store = try source.open { $0.connections = .single }
        try Self.fill(store)
        let scratch = try Scratch()
        for suffix in ["", "-wal", "-shm"] {
            try FileManager.default.copyItem(atPath: source.file + suffix, toPath: scratch.file + suffix)
        }
        store.close()
        var wal = Array(try Data(contentsOf: URL(filePath: scratch.file + "-wal")))
        wal[32 + frame * 4_120] = 0x7F
        try Data(wal).write(to: URL(filePath: scratch.file + "-wal"))
        let found = try SQLiteStore.recoveredCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil }
        #expect(found == Samples.catalog)
    }

    @Test(arguments: [0, 3, 40, 300]) func `the writes behind a damaged frame of the WAL are kept`(frame: Int) throws {
        let source = try Scratch()
        let store = try source.open { $0.connections = .single }
        try Self.fill(store)
        let written = try store.outbox(after: nil, limit: 1_000)
        let file = Array(try Data(contentsOf: URL(filePath: source.file)))
        var wal = Array(try Data(contentsOf: URL(filePath: source.file + "-wal")))
        let index = try Data(contentsOf: URL(filePath: source.file + "-shm"))
        store.close()
        wal[32 + frame * 4_120 + 24 + 2_000] ^= 1
        let scratch = try Scratch()
        try Data(file).write(to: URL(filePath: scratch.file))
        try Data(wal).write(to: URL(filePath: scratch.file + "-wal"))
        try index.write(to: URL(filePath: scratch.file + "-shm"))
        // SQLite would open it without an error, drop the writes, and delete the WAL.
        for _ in 0..<2 {
            let failure = #expect(throws: StoreError.self) { try scratch.open() }
            #expect(
                failure?.code == .corrupt && failure?.message.contains("-wal is damaged, and SQLite would drop") == true
            )
        }
        let (report, saved) = try Self.salvage(file, wal: wal, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: written.count, lost: 0))
        let kept = try saved.outbox(after: nil, limit: 1_000)
        #expect(kept.map(\.transaction.mutations) == written.map(\.transaction.mutations))
        try saved.verify()
    }

    @Test func `a salvage that was killed before its last step can be repeated without loss`() throws {
        let source = try Scratch()
        let store = try source.open { $0.connections = .single }
        try Self.fill(store)
        let written = try store.outbox(after: nil, limit: 1_000)
        let scratch = try Scratch()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: source.file + suffix, toPath: scratch.file + suffix)
            try FileManager.default.linkItem(
                atPath: scratch.file + suffix, toPath: scratch.file + ".damaged-1" + suffix)
        }
        // A salvage removes the WAL's original name before it moves the new database to its path.
        try FileManager.default.removeItem(atPath: scratch.file + "-wal")
        try Data([1, 2, 3]).write(to: URL(filePath: scratch.file + ".salvage"))
        let failure = #expect(throws: StoreError.self) { try scratch.open() }
        #expect(failure?.code == .corrupt, "\(String(describing: failure))")
        // While the lock is held, the salvage may still be running, so the database is busy and not damaged.
        do {
            let lock = try #require(try FileLock.tryLocking(scratch.file + ".lock"))
            defer { withExtendedLifetime(lock) {} }
            let failure = #expect(throws: StoreError.self) {
                try scratch.open { $0.limits.busyTimeout = .milliseconds(20) }
            }
            #expect(failure?.code == .busy, "\(String(describing: failure))")
        }
        var random = SeededRandom(seed: 7)
        let report = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: Samples.catalog, now: Samples.now, random: &random)
        #expect(report.keptFile == scratch.file + ".damaged-1")
        #expect(report.outbox == SalvageReport.Count(saved: written.count, lost: 0))
        store.close()
    }

    /// Regression test: a failed salvage left hard links to the database, so that every `open` threw `corrupt`.
    @Test func `a failed salvage leaves the database as it was`() throws {
        let scratch = try Scratch()
        try Data(try Self.original.get().bytes).write(to: URL(filePath: scratch.file))
        func salvage(_ catalog: SchemaCatalog) throws -> SalvageReport {
            var random = SeededRandom(seed: 7)
            return try SQLiteStore.salvage(
                StoreConfiguration(file: scratch.file), catalog: catalog, now: Samples.now, random: &random,
                refusesOtherModels: true)
        }
        let other = SchemaCatalog([ModelSchema(collection: "notes", fields: [.text("title")])])
        #expect(throws: StoreError.self) { try salvage(other) }
        #expect(scratch.names.filter { $0.contains("damaged") || $0.contains("salvage") } == [])
        let store = try scratch.open { $0.connections = .single }
        try store.verify()
        #expect(try store.outbox(after: nil, limit: 1_000) == Self.original.get().outbox)
        try store.checkpointNow()
        store.close()
        try? FileManager.default.removeItem(atPath: scratch.file + "-wal")

        // A salvage that is killed just before its last step has removed the WAL's original name. Without its WAL, the
        // database must not be opened.
        try Data([0]).write(to: URL(filePath: scratch.file + ".damaged-1-wal"))
        try FileManager.default.linkItem(atPath: scratch.file, toPath: scratch.file + ".damaged-1")
        #expect(throws: StoreError.self) { try salvage(other) }
        let failure = #expect(throws: StoreError.self) { try scratch.open() }
        #expect(failure?.code == .corrupt, "\(String(describing: failure))")
        #expect(try salvage(Samples.catalog).keptFile == scratch.file + ".damaged-1")
    }

    @Test func `each damaged file is kept under its own name`() throws {
        let original = try Self.original.get()
        let scratch = try Scratch()
        var files: [String] = []
        for number in 1...3 {
            let (report, store) = try Self.salvage(Array(original.bytes.prefix(number * 4_096)), in: scratch)
            store.close()
            files.append(report.keptFile)
            try FileManager.default.removeItem(atPath: scratch.file)
        }
        #expect(files == (1...3).map { "\(scratch.file).damaged-\($0)" })
    }

    @Test func `an unreadable identity is replaced, and transactions that were sent are sent again`() throws {
        let original = try Self.original.get()
        let bytes = Self.overwriting(original.session.identity.client.description, in: original.bytes)
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        let identity = try store.session().identity
        #expect(identity.client != original.session.identity.client)
        #expect(report.identity == .unreadable(now: identity))
        #expect(report.perhapsSent == 10)
        #expect(report.account == nil)
        #expect(try store.outbox(after: nil, limit: 1_000).map(\.transaction) == original.outbox.map(\.transaction))
        #expect(try store.session().outbox.waiting == original.outbox.count)
    }

    private static func overwriting(_ text: String, in bytes: [UInt8]) -> [UInt8] {
        var data = Data(bytes)
        while let range = data.firstRange(of: Data(text.utf8)) {
            data.replaceSubrange(range, with: Data(repeating: UInt8(ascii: "?"), count: range.count))
        }
        return Array(data)
    }

    @Test func `if a write in the middle is lost, the others get new numbers and name their former ones`() throws {
        let original = try Self.original.get()
        // User 6 is the second of the writes in flight.
        let bytes = Self.overwriting(#""username":"user 6""#, in: original.bytes)
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count - 1, lost: 1))
        guard case .renewed(let identity, former: original.session.identity) = report.identity else {
            Issue.record("the identity is \(report.identity)")
            return
        }
        #expect(try store.session().identity == identity)
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 3, bytes: .max), now: Samples.now))
        #expect(batch.transactions.map(\.number.rawValue) == [0, 1, 2])
        #expect(batch.transactions.map { $0.formerNumbers.map(\.number.rawValue) } == [[2], [3], [4]])
        #expect(
            batch.transactions.allSatisfy { $0.formerNumbers.allSatisfy { $0.identity == original.session.identity } })
    }

    /// Returns the bytes of the original database after running SQL on it. Closing the connection checkpoints the WAL.
    private static func changed(_ sql: String...) throws -> [UInt8] {
        let scratch = try Scratch()
        try Data(try original.get().bytes).write(to: URL(filePath: scratch.file))
        for sql in sql { try RawDatabase(scratch.file).run(sql) }
        return Array(try Data(contentsOf: URL(filePath: scratch.file)))
    }

    @Test func `a value that has changed in the outbox is not sent, and the record still offers the right one`() throws
    {
        let scratch = try Scratch()
        let store = try scratch.open { $0.connections = .single }
        for number in UInt64(1)...3 {
            _ = try store.commit([Samples.create(number, "Robert\(number)")], in: .default, now: Samples.now)
        }
        store.close()
        try RawDatabase(scratch.file).run("UPDATE sync_outbox SET payload = replace(payload, 'Robert2', 'Bobert2')")
        let damaged = try scratch.open()
        let failure = #expect(throws: StoreError.self) {
            try damaged.takeBatch(BatchLimit(transactions: 9, bytes: .max), now: Samples.now)
        }
        #expect(failure?.code == .corrupt && failure?.message == "outbox entry 2 is not as it was written")
        #expect(throws: StoreError.self) { try damaged.verify() }
        damaged.close()
        let bytes = Array(try Data(contentsOf: URL(filePath: scratch.file)))
        let other = try Scratch()
        let (report, saved) = try Self.salvage(bytes, in: other)
        defer { saved.close() }
        #expect(report.outbox == SalvageReport.Count(saved: 2, lost: 1) && report.offered == 1)
        let offered = try RawDatabase(other.file).run("SELECT payload FROM sync_journal")
        #expect(offered.count == 1 && offered.allSatisfy { $0.contains(#""Robert2""#) }, "\(offered)")
    }

    @Test func `a write whose space has changed in the outbox is not sent, and a salvage finds its space`() throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.connections = .single }
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        store.close()
        try RawDatabase(scratch.file).run("UPDATE sync_outbox SET space = 'dafault'")
        let damaged = try scratch.open()
        let failure = #expect(throws: StoreError.self) {
            try damaged.takeBatch(BatchLimit(transactions: 9, bytes: .max), now: Samples.now)
        }
        #expect(
            failure?.code == .corrupt
                && failure?.message == "outbox entry 1 names the space dafault, and its transaction default")
        #expect(throws: StoreError.self) { try damaged.verify() }
        damaged.close()
        let bytes = Array(try Data(contentsOf: URL(filePath: scratch.file)))
        let (report, saved) = try Self.salvage(bytes, in: try Scratch())
        defer { saved.close() }
        #expect(report.outbox == SalvageReport.Count(saved: 1, lost: 0))
        #expect(try saved.outbox(limit: 9).map(\.transaction.space) == [.default])
    }

    @Test(arguments: ["held_for", "version"])
    func `a damaged column that hides an entry from every query is found before the device counts as in sync`(
        column: String
    ) throws {
        let scratch = try Scratch()
        let store = try scratch.open { $0.connections = .single }
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        let limit = BatchLimit(transactions: 9, bytes: .max)
        if column == "version" { _ = try store.takeBatch(limit, now: Samples.now) }
        store.close()
        // A changed bit makes 0 of NULL, and does not change the indexes.
        let index = "CREATE INDEX sync_outbox_held ON sync_outbox (sequence) WHERE held_for IS NOT NULL"
        try RawDatabase(scratch.file).run(
            """
            DROP INDEX sync_outbox_held; UPDATE sync_outbox SET \(column) = \(column == "held_for" ? "'0'" : "0");
            \(index) AND held_for <> '0'; PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = '\(index)' WHERE name = 'sync_outbox_held'
            """)
        let damaged = try scratch.open { $0.connections = .single }
        defer { damaged.close() }
        let failure = #expect(throws: StoreError.self) { try damaged.takeBatch(limit, now: Samples.now) }
        #expect(failure?.code == .corrupt, "\(String(describing: failure))")
    }

    @Test func `a salvage keeps the last values of a deleted record with a pending edit`() throws {
        let bytes = try Self.changed(
            """
            DELETE FROM sync_base;
            INSERT INTO sync_base (collection, id, is_deleted, uid, version, fields, space)
            SELECT collection, id, 1, -1, 0, '{"username":"last"}', 1 FROM sync_pending WHERE link = 'changes' LIMIT 1
            """)
        let scratch = try Scratch()
        let (_, store) = try Self.salvage(bytes, in: scratch)
        try store.verify()
        let bases = try RawDatabase(scratch.file).run("SELECT is_deleted, fields FROM sync_base")
        #expect(!bases.isEmpty && Set(bases) == [#"1|{"username":"last"}"#])
    }

    @Test func `a salvage keeps the versions of own commits and what the journal needs, and reports the rest`() throws {
        let id = "x'00112233445566778899aabbccddeeff'"
        let bytes = try Self.changed(
            """
            UPDATE sync_space SET key = 7;
            INSERT INTO sync_confirmed VALUES (0, 'default', 3), (9, 'former', 4), (10, 'A B', 5);
            INSERT INTO sync_replacement VALUES ('users', \(id), \(id)), ('users', x'01', \(id));
            INSERT INTO sync_dropped_reference VALUES ('users', \(id), 'age', \(id), NULL),
                ('users', \(id), 'name', x'01', NULL), ('users', \(id), 'A B', \(id), NULL),
                ('users', \(id), 'avatar', \(id), x'01');
            INSERT INTO sync_deleted VALUES ('users', \(id), 7, '{"username":"x"}'), ('users', x'02', 7, '{}');
            INSERT INTO sync_former VALUES ('users', \(id), 3, NULL)
            """)
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        try store.verify()
        let raw = try RawDatabase(scratch.file)
        #expect(
            try raw.run("SELECT slot, space, version FROM sync_confirmed") == ["0|default|3", "9|former|4"])
        #expect(
            try raw.run("SELECT collection, hex(id) FROM sync_replacement") == [
                "users|00112233445566778899AABBCCDDEEFF"
            ])
        #expect(
            try raw.run("SELECT hex(target), field FROM sync_dropped_reference") == [
                "00112233445566778899AABBCCDDEEFF|age"
            ])
        #expect(
            try raw.run("SELECT fields, name FROM sync_deleted JOIN sync_space ON key = space") == [
                #"{"username":"x"}|default"#
            ])
        #expect(report.spaces == SalvageReport.Count(saved: 1, lost: 0))
        #expect(
            try raw.run("SELECT collection, hex(id), version FROM sync_former") == [
                "users|00112233445566778899AABBCCDDEEFF|3"
            ])
    }

    @Test(arguments: [
        ("complete", 5, "c5", 5), ("catching_up", 5, "c5", 5), ("complete", 3, "r3", 3), ("complete", 2, "r3", 3),
        ("snapshot", 5, "r3", 3), ("empty", 5, "r3", 3),
    ])
    func `a salvage keeps the newest proof of the server's history`(
        phase: String, version: Int, cursor: String, proven: Int64
    ) throws {
        let bytes = try Self.changed(
            """
            UPDATE sync_space SET phase = '\(phase)', version = \(version), cursor = 'c\(version)', receipt = 'r3',
                receipt_version = 3
            """)
        let (_, store) = try Self.salvage(bytes, in: try Scratch())
        #expect(
            try store.session().spaces.map(\.receipt) == [
                CommitReceipt(space: .default, version: Version(proven), cursor: Cursor(rawValue: cursor))
            ])
    }

    @Test func `a salvage forgets no unknown fate, and a lost journal entry makes all fates unknown`() throws {
        func unknown(after sql: String) throws -> [String] {
            let scratch = try Scratch()
            let (_, store) = try Self.salvage(try Self.changed(sql), in: scratch)
            store.close()
            return try RawDatabase(scratch.file).run("SELECT fate_unknown_up_to, last_sequence FROM sync_meta")
        }
        #expect(try unknown(after: "UPDATE sync_meta SET fate_unknown_up_to = 0") == ["0|300"])
        #expect(try unknown(after: "UPDATE sync_meta SET fate_unknown_up_to = 2") == ["2|300"])
        #expect(try unknown(after: "UPDATE sync_meta SET fate_unknown_up_to = 1000000") == ["300|300"])
        #expect(try unknown(after: "UPDATE sync_meta SET fate_unknown_up_to = -1") == ["300|300"])
        #expect(try unknown(after: "UPDATE sync_journal SET payload = '{' WHERE number = 1") == ["300|300"])
    }

    @Test func `a space that cannot be read is reported`() throws {
        let bytes = try Self.changed("INSERT INTO sync_space (name) VALUES ('A B')")
        let (report, _) = try Self.salvage(bytes, in: try Scratch())
        #expect(report.spaces == SalvageReport.Count(saved: 1, lost: 1))
    }

    @Test(arguments: ["sync_outbox", "sync_journal"])
    func `if a table's interior page is damaged, the salvage finds its rows by their column types`(table: String) throws
    {
        let source = try Scratch()
        let store = try source.open { $0.connections = .single }
        for number in UInt64(1)...200 {
            _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
        }
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 100, bytes: .max), now: Samples.now))
        let results = batch.transactions.map {
            let message = "this name is already used by another account"
            let rejection = Rejection(code: .invalidValue, message: message, mutation: 0, fields: ["username"])
            return TransactionResult(number: $0.number, outcome: .rejected(rejection))
        }
        _ = try store.record(results, of: try store.session().identity, now: Samples.now)
        try store.checkpointNow()
        let (outbox, journal) = (
            try store.outbox(after: nil, limit: 1_000), try store.journal(state: nil, limit: 1_000)
        )
        store.close()
        var bytes = Array(try Data(contentsOf: URL(filePath: source.file)))
        let root = try RawDatabase(source.file).run("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'")
        let start = (try #require(root.first.flatMap { Int($0) }) - 1) * 4_096
        #expect(bytes[start] == 5, "the root is an interior page")
        for offset in start..<start + 4_096 { bytes[offset] = 0xA5 }
        let scratch = try Scratch()
        let (report, salvaged) = try Self.salvage(bytes, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: 100, lost: 0))
        #expect(report.journal == SalvageReport.Count(saved: 100, lost: 0))
        #expect(try salvaged.outbox(after: nil, limit: 1_000) == outbox)
        #expect(try salvaged.journal(state: nil, limit: 1_000) == journal)
    }

    /// Regression test: when the key 200 was damaged to 16,328, the salvage lost all later entries.
    @Test func `a damaged key loses no other row`() throws {
        let original = try Self.original.get()
        var bytes = original.bytes
        let marker = Data(#""username":"user 200""#.utf8)
        func number(at place: Int) -> Int { Int(bytes[place]) << 8 | Int(bytes[place + 1]) }
        var keys: [Int] = []
        for page in stride(from: 4_096, to: bytes.count, by: 4_096) where bytes[page] == 13 {
            for cell in 0..<number(at: page + 3) {
                // A cell begins with the size of the row and its key. Here, both take two bytes.
                let start = page + number(at: page + 8 + 2 * cell)
                let row = Data(bytes[start..<min(start + 400, bytes.count)])
                if Array(row.dropFirst(2).prefix(2)) == [0x81, 0x48], row.firstRange(of: marker) != nil {
                    keys.append(start + 2)
                }
            }
        }
        let key = try #require(keys.first)
        #expect(keys.count == 1)
        bytes[key] = 0xFF
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count, lost: 0))
        let (damaged, others) = (
            original.outbox.filter { $0.sequence.rawValue == 200 },
            original.outbox.filter { $0.sequence.rawValue != 200 }
        )
        #expect(try store.outbox(after: nil, limit: 1_000).map(\.transaction) == (others + damaged).map(\.transaction))
        try store.verify()
    }

    /// Regression test: the salvage looked up every key between two readable pages, one by one. If the keys were far
    /// apart, it did not end.
    @Test(arguments: TestRing.sample([1 << 62], [1 << 40, 1 << 62, Int64.max - 60]))
    func `a salvage ends even if the keys beside a damaged page are far apart`(distance: Int64) throws {
        let original = try Self.original.get()
        var bytes = try Self.changed(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO sync_former_client
                SELECT CASE WHEN i < 30 THEN i ELSE i + \(distance) END, 'former-' || i || hex(zeroblob(200)) FROM n
            """)
        // This damages the leaf in the middle, so neither a forward nor a backward scan can read past it.
        let row = try #require(
            stride(from: 0, to: bytes.count, by: 4_096).first { page in
                bytes[page] == 13 && Data(bytes[page..<page + 4_096]).firstRange(of: Data("former-30".utf8)) != nil
            })
        for offset in row..<row + 4_096 { bytes[offset] = 0xA5 }
        let (report, _) = try Self.salvage(bytes, in: try Scratch())
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count, lost: 0))
    }

    /// Regression test: a header with the largest possible length caused a trap.
    @Test func `the search for models passes over a row of an impossible length`() throws {
        var bytes = [UInt8](repeating: 0, count: 2 * 4_096)
        bytes[16] = 0x10
        // A leaf with one row, at 100: its size, its key, the length of its header, and two columns.
        let row: [UInt8] = [5, 1, 0xBF] + [UInt8](repeating: 0xFF, count: 8) + [0, 13]
        bytes.replaceSubrange(4_096..<4_107, with: [13, 0, 0, 0, 1, 0, 0, 0, 0, 100, 0])
        bytes.replaceSubrange(4_196..<4_196 + row.count, with: row)
        let scratch = try Scratch()
        try Data(bytes).write(to: URL(filePath: scratch.file))
        let found = try SQLiteStore.recoveredCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil }
        #expect(found == nil)
    }

    /// A salvage replaces damaged schema pages by those of a new database. They do not fit here, because `VACUUM` has
    /// moved the tables to other pages.
    @Test(
        arguments: TestRing.sample(["sync_outbox"], ["sync_outbox", "sync_journal", "sync_meta"]),
        ["name", "tbl_name", "sql", "type"])
    func `a damaged row of the schema costs no write, wherever the tables are`(table: String, column: String) throws {
        let original = try Self.original.get()
        let bytes = try Self.changed(
            "VACUUM",
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET \(column) = 'u' || substr(\(column), 2) WHERE type = 'table' AND name = '\(table)'
            """)
        let scratch = try Scratch()
        let (report, store) = try Self.salvage(bytes, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: original.outbox.count, lost: 0))
        #expect(report.journal == SalvageReport.Count(saved: 2, lost: 0))
        #expect(report.identity == .kept(original.session.identity))
        #expect(try store.outbox(after: nil, limit: 1_000) == original.outbox)
    }

    /// Regression test: the report counted two billion lost writes.
    @Test func `an impossible count of writes is not a loss`() throws {
        let bytes = try Self.changed("UPDATE sync_meta SET waiting = waiting + 2147483648, journal_entries = -5")
        let (report, _) = try Self.salvage(bytes, in: try Scratch())
        #expect(report.outbox == SalvageReport.Count(saved: try Self.original.get().outbox.count, lost: 0))
        #expect(report.journal == SalvageReport.Count(saved: 2, lost: 0))
    }

    @Test func `the next snapshot completes a salvaged database`() throws {
        let original = try Self.original.get()
        let scratch = try Scratch()
        let (_, store) = try Self.salvage(original.bytes, in: scratch)
        // The server has the two records that it has applied, and one from another device.
        let shown = [3, 4, 777].map { (number: UInt64) in
            Record(
                id: Samples.id(number), uid: UID(Int64(number)), version: Version(7),
                creating: ["username": .text("user \(number)")], schema: Samples.users)
        }
        let page = PullPage(
            space: .default, epoch: Self.epoch, serverTime: HybridTime(wall: Samples.now, counter: 0),
            content: .snapshot([SnapshotRows(collection: "users", records: shown)], isFirst: true, isLast: true),
            cursor: Cursor(rawValue: "c7"), version: Version(7), head: Version(7), hasMore: false)
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
        // Applied writes leave the outbox. The eight writes in flight and the waiting writes stay.
        #expect(try store.outboxSummary().answered == 0)
        #expect(try store.outboxSummary().count == original.outbox.count - 2)
        #expect(try store.count(matching: RecordQuery("users")) == original.outbox.count + 1)
        #expect(try store.record("users", .id(Samples.id(3)))?.uid == UID(3))
    }

    @Test func `a file that is not a database is kept, and an empty database replaces it`() throws {
        let scratch = try Scratch()
        let text = Array(String(repeating: "this was never a database\n", count: 1_000).utf8)
        let (report, store) = try Self.salvage(text, in: scratch)
        #expect(report.outbox == SalvageReport.Count(saved: 0, lost: nil))
        #expect(try store.outboxSummary().count == 0)
    }
}

import Foundation
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import Testing

/// A salvage keeps the records that the server has sent. If the server is later restored from an older copy, the device
/// can still offer the records that the server has lost (I15).
@Suite struct SalvagedRecordsTests {
    private static let epoch = Epoch(rawValue: "first")
    private static let account = AccountID(rawValue: "ada")

    private static func record(
        _ number: UInt64, _ name: String, uid: Int64? = nil, version: Int64, age: (value: Int64, version: Int64)? = nil
    ) -> Record {
        var record = Record(
            id: Samples.id(number), uid: UID(uid ?? Int64(number)), version: Version(version),
            creating: ["username": .text(name)], schema: Samples.users)
        if let age {
            record.values[1] = .integer(age.value)
            record.fieldVersions = [Version(version), Version(age.version)]
        }
        return record
    }

    private static func snapshot(_ records: [Record], at version: Int64, in epoch: Epoch = epoch) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: HybridTime(wall: Samples.now, counter: 0),
            content: .snapshot([SnapshotRows(collection: "users", records: records)], isFirst: true, isLast: true),
            cursor: Cursor(rawValue: "c\(version)"), version: Version(version), head: Version(version), hasMore: false)
    }

    /// Makes the database of a device that is in sync at version 9, with users 1, 2, and 3. User 2 has a pending edit.
    private static func device() throws -> Scratch {
        let scratch = try Scratch()
        let store = try scratch.open { $0.connections = .single }
        _ = try store.adopt(epoch, as: account)
        _ = try store.follow(.default)
        let records = [
            record(1, "one", version: 9, age: (40, 3)), record(2, "two", version: 4), record(3, "three", version: 8),
        ]
        _ = try store.apply(snapshot(records, at: 9), after: nil, brake: nil, now: Samples.now)
        _ = try store.commit(
            [.update("users", Samples.id(2), ["username": .text("edited")])], in: .default, now: Samples.now)
        try store.checkpointNow()
        store.close()
        return scratch
    }

    private static func salvage(
        _ scratch: Scratch, after sql: String...
    ) throws -> (report: SalvageReport, store: SQLiteStore) {
        for sql in sql { try RawDatabase(scratch.file).run(sql) }
        return try salvage(scratch, damagingPages: [])
    }

    /// - Parameter pages: the numbers of the pages to fill with zeros.
    private static func salvage(
        _ scratch: Scratch, damagingPages pages: [Int]
    ) throws -> (report: SalvageReport, store: SQLiteStore) {
        let url = URL(filePath: scratch.file)
        var bytes = Array(try Data(contentsOf: url))
        for page in pages {
            for offset in (page - 1) * 4_096..<page * 4_096 { bytes[offset] = 0 }
        }
        if !pages.isEmpty { try Data(bytes).write(to: url) }
        var random = SeededRandom(seed: 7)
        let report = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: Samples.catalog, now: Samples.now, random: &random)
        let store = try scratch.open { $0.connections = .single }
        try store.verify()
        return (report, store)
    }

    /// Returns the values that the journal offers, as "record field=value".
    private static func offers(_ store: SQLiteStore) throws -> [String] {
        try store.journal(state: .active, limit: 100).flatMap { entry -> [String] in
            guard case .lost(let transaction) = entry.event else { return ["\(entry.event)"] }
            return transaction.mutations.flatMap { mutation in
                let number = (1...9).first { Samples.id($0) == mutation.record } ?? 0
                return mutation.patch.map { "\(number) \($0.field)=\($0.value)" }
            }
        }.sorted()
    }

    private static func text(_ value: String) -> String { "\(FieldValue.text(value))" }

    @Test func `a record whose versions in a lost history cannot be read is kept, and offered if the server lacks it`()
        throws
    {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(
            scratch, after: "UPDATE users SET version = 0 WHERE uid = 3", "DELETE FROM sync_former")
        #expect(report.records == SalvageReport.Count(saved: 3, lost: 0))
        let restored = Self.snapshot(
            [Self.record(1, "one", version: 9, age: (40, 3)), Self.record(2, "two", version: 4)], at: 9)
        _ = try store.apply(restored, after: nil, brake: nil, now: Samples.now)
        #expect(try Self.offers(store) == ["3 username=\(Self.text("three"))"])
        store.close()
    }

    @Test(arguments: ["DELETE FROM sync_base", "UPDATE sync_base SET fields = '{'", "UPDATE sync_base SET space = 99"])
    func `a base that cannot be read is computed from the record and its pending edits`(damage: String) throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let base = """
            INSERT INTO sync_base (collection, id, is_deleted, uid, version, fields, space)
            SELECT 'users', id, 0, uid, version, '{"username":"two"}', sync_space FROM users WHERE uid = 2
            """
        let (report, store) = try Self.salvage(scratch, after: base, damage)
        #expect(report.records == SalvageReport.Count(saved: 3, lost: 0))
        #expect(try store.record("users", .id(Samples.id(2)))?.values.first == .text("edited"))
        let edit: Patch = ["username": .text("edited")]
        #expect(try store.outbox(limit: 10).flatMap(\.transaction.mutations).map(\.patch) == [edit])
        // If the server lacks the record, the device must keep both the pending edit and the value before it.
        let restored = Self.snapshot(
            [Self.record(1, "one", version: 9, age: (40, 3)), Self.record(3, "three", version: 8)], at: 9,
            in: Epoch(rawValue: "second"))
        _ = try store.adopt(Epoch(rawValue: "second"), as: Self.account)
        _ = try store.apply(restored, after: nil, brake: nil, now: Samples.now)
        #expect(try Self.offers(store).contains("2 username=\(Self.text("two"))"))
        #expect(try store.outbox(limit: 10).flatMap(\.transaction.mutations).map(\.patch) == [edit])
        store.close()
    }

    @Test func `a record whose base and row cannot be read is reported as lost`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(
            scratch, after: "DELETE FROM sync_base", "DELETE FROM users WHERE uid = 2")
        #expect(report.records == SalvageReport.Count(saved: 2, lost: 1))
        store.close()
    }

    @Test func `unreadable versions of own values are reported`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(scratch, after: "INSERT INTO sync_confirmed VALUES (5, 'A B', 3)")
        #expect(!report.knowsOwnVersions)
        store.close()
        let whole = try Self.device()
        defer { withExtendedLifetime(whole) {} }
        let (other, intact) = try Self.salvage(whole)
        #expect(other.knowsOwnVersions)
        intact.close()
    }

    @Test func `the current client id is not also a former one`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        try RawDatabase(scratch.file).run("INSERT INTO sync_former_client SELECT 1, client FROM sync_meta")
        let store = try scratch.open { $0.connections = .single }
        let clients = try #require(try store.session().spaces.first?.notices?.clients)
        #expect(clients == [try store.session().identity.client])
        store.close()
    }

    @Test func `records keep their values and versions, and the cursor proves them until there is a receipt`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(scratch)
        #expect(report.records == SalvageReport.Count(saved: 3, lost: 0))
        let one = try #require(try store.record("users", .id(Samples.id(1))))
        #expect(one == Self.record(1, "one", version: 9, age: (40, 3)))
        let two = try #require(try store.record("users", .id(Samples.id(2))))
        #expect(two.values[0] == .text("edited"))
        let space = try #require(try store.session().spaces.first)
        #expect(space.cursor == nil && !space.isComplete)
        #expect(space.receipt?.cursor == Cursor(rawValue: "c9"))
        // The server still has the same history. Its snapshot is applied like any other, and the journal offers
        // nothing.
        let records = [Self.record(1, "one", version: 9, age: (40, 3)), Self.record(2, "two", version: 4)]
        _ = try store.apply(Self.snapshot(records, at: 10), after: nil, brake: nil, now: Samples.now)
        #expect(try store.record("users", .id(Samples.id(3))) == nil)
        #expect(try Self.offers(store) == [])
    }

    @Test(arguments: [("", Version(9)), ("UPDATE sync_meta SET epoch = NULL", .zero)])
    func `a receipt whose history cannot be read does not put the server's history in doubt`(
        damage: String, expected: Version
    ) throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (_, store) = try Self.salvage(
            scratch, after: "UPDATE sync_space SET receipt = 'r9', receipt_version = 9",
            "INSERT INTO sync_unfollowed (name, receipt, receipt_version) VALUES ('team', 'r3', 9)", damage)
        _ = try store.follow("team")
        let receipts = try store.session().spaces.map(\.receipt)
        #expect(receipts.map { $0?.cursor } == ["r9", "r3"].map { Cursor(rawValue: $0) })
        #expect(receipts.map { $0?.version } == [expected, expected])
    }

    @Test func `after a salvage, the journal offers the records that a restored server has lost`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (_, store) = try Self.salvage(scratch)
        let restored = Epoch(rawValue: "second")
        _ = try store.adopt(restored, as: Self.account)
        let records = [Self.record(1, "old", version: 3, age: (40, 3)), Self.record(2, "two", version: 4)]
        _ = try store.apply(Self.snapshot(records, at: 5, in: restored), after: nil, brake: nil, now: Samples.now)
        #expect(
            try Self.offers(store) == ["1 username=\(Self.text("one"))", "3 username=\(Self.text("three"))"])
    }

    @Test
    func
        `a salvage before the comparison with a restored server keeps its records and the mass-delete brake`()
        throws
    {
        let scratch = try Self.device()
        let restored = Epoch(rawValue: "second")
        var store = try scratch.open { $0.connections = .single }
        _ = try store.adopt(restored, as: Self.account)
        store.close()
        (_, store) = try Self.salvage(scratch)
        let empty = Self.snapshot([], at: 1, in: restored)
        let brake = DeleteBrake(records: 1, percent: 30)
        let result = try store.apply(empty, after: nil, brake: brake, now: Samples.now)
        #expect(result == .braked(deletes: 3, of: 3))
        let records = [Self.record(1, "old", version: 3, age: (40, 3))]
        _ = try store.apply(
            Self.snapshot(records, at: 5, in: restored), after: nil, brake: nil, now: Samples.now)
        #expect(
            try Self.offers(store) == [
                "1 username=\(Self.text("one"))", "2 username=\(Self.text("two"))", "3 username=\(Self.text("three"))",
            ])
    }

    @Test(arguments: [
        "INSERT INTO sync_contact (one, failure_code, failure_message, failure_at) VALUES (1, 'contradiction', 'x', 1)",
        "INSERT INTO sync_contact (one, failure_code, failure_message, failure_at) VALUES (1, 'history_in_doubt', 'x', 1)",
        "UPDATE sync_space SET cursor = NULL", "UPDATE sync_space SET name = 'A B'", "DELETE FROM sync_meta",
    ])
    func `records without proof of their history are compared even in the same history`(damage: String) throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(scratch, after: damage)
        #expect(report.records == SalvageReport.Count(saved: 3, lost: 0))
        if try store.session().epoch == nil { _ = try store.adopt(Self.epoch, as: Self.account) }
        let records = [Self.record(1, "one", version: 9, age: (40, 3)), Self.record(2, "two", version: 4)]
        let page = Self.snapshot(records, at: 10)
        #expect(
            try store.apply(page, after: nil, brake: DeleteBrake(records: 1, percent: 30), now: Samples.now)
                == .braked(deletes: 1, of: 3))
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
        #expect(try Self.offers(store) == ["3 username=\(Self.text("three"))"])
    }

    @Test func `an unreadable record is counted, and the value of a lost edit is offered after the snapshot`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(
            scratch,
            after: "UPDATE users SET sync_unknown = '{' WHERE uid = 3; UPDATE sync_outbox SET payload = '{'")
        #expect(report.outbox == SalvageReport.Count(saved: 0, lost: 1))
        #expect(report.records == SalvageReport.Count(saved: 2, lost: 1))
        #expect(try store.record("users", .id(Samples.id(2)))?.values.first == .text("edited"))
        #expect(try store.record("users", .id(Samples.id(3))) == nil)
        let records = [
            Self.record(1, "one", version: 9, age: (40, 3)), Self.record(2, "two", version: 4),
            Self.record(3, "three", version: 8),
        ]
        _ = try store.apply(Self.snapshot(records, at: 9), after: nil, brake: nil, now: Samples.now)
        #expect(try store.record("users", .id(Samples.id(2))) == Self.record(2, "two", version: 4))
        #expect(try Self.offers(store) == ["2 username=\(Self.text("edited"))"])
    }

    /// Nothing tells which records had pending edits, so all are compared. A value that the server has changed since is
    /// not restored together with others.
    @Test func `without the outbox and its links, the values that differ from the snapshot are offered`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let roots = try RawDatabase(scratch.file).run(
            "SELECT rootpage FROM sqlite_schema WHERE name IN ('sync_outbox', 'sync_pending')")
        let (report, store) = try Self.salvage(scratch, damagingPages: roots.compactMap { Int($0) })
        #expect(report.outbox.lost != 0)
        #expect(report.records == SalvageReport.Count(saved: 3, lost: 0))
        let records = [
            Self.record(1, "one", version: 12, age: (41, 12)), Self.record(2, "two", version: 4),
            Self.record(3, "three", version: 8),
        ]
        _ = try store.apply(Self.snapshot(records, at: 12), after: nil, brake: nil, now: Samples.now)
        #expect(
            try Self.offers(store) == ["1 age=\(FieldValue.integer(40))", "2 username=\(Self.text("edited"))"])
        let entry = try #require(try store.journal(state: .active, limit: 9).first)
        guard case .lost(let changes) = entry.event else {
            Issue.record("\(entry)")
            return
        }
        let obstacles = try store.obstacles(to: changes)
        #expect(
            obstacles == [LostChange(RecordAddress("users", Samples.id(1)), "age"): LostEntries.Obstacle.outdated])
    }

    /// The disk has lost the last writes of both tables, and no page is unreadable.
    @Test func `an edit of which only the count and the row are left is offered`() throws {
        let scratch = try Self.device()
        defer { withExtendedLifetime(scratch) {} }
        let (report, store) = try Self.salvage(
            scratch, after: "DELETE FROM sync_outbox", "DELETE FROM sync_pending")
        #expect(report.outbox == SalvageReport.Count(saved: 0, lost: 1))
        let records = [
            Self.record(1, "one", version: 9, age: (40, 3)), Self.record(2, "two", version: 4),
            Self.record(3, "three", version: 8),
        ]
        _ = try store.apply(Self.snapshot(records, at: 9), after: nil, brake: nil, now: Samples.now)
        #expect(try Self.offers(store) == ["2 username=\(Self.text("edited"))"])
        // The account loses access to the space. Only this device has the edit.
        _ = try store.vacate(.default, of: Self.epoch, brake: nil, now: Samples.now)
        #expect(try store.record("users", .id(Samples.id(1))) == nil)
        #expect(try Self.offers(store) == ["2 username=\(Self.text("edited"))"])
        try store.verify()
    }

    @Test func `versions of fields follow the columns of the damaged database`() throws {
        let scratch = try Self.device()
        let fields: [FieldSchema] = [
            .text("nickname"), .text("username", required: true, bytes: 1...64), .integer("age"),
        ]
        let catalog = SchemaCatalog([ModelSchema(collection: "users", fields: fields)])
        try scratch.open(catalog) { $0.connections = .single }.close()
        var random = SeededRandom(seed: 7)
        _ = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: catalog, now: Samples.now, random: &random)
        let store = try scratch.open(catalog) { $0.connections = .single }
        let one = try #require(try store.record("users", .id(Samples.id(1))))
        #expect(one.values == [.null, .text("one"), .integer(40)])
        #expect(one.version(ofFieldAt: 1) == Version(9))
        #expect(one.version(ofFieldAt: 2) == Version(3))
    }

    /// Zeroes the pages of the schema, salvages the database with these models, and returns the report, the values of
    /// the record, and the journal.
    private func salvageWithoutSchema(
        _ scratch: Scratch, _ catalog: SchemaCatalog
    ) throws -> (report: SalvageReport, values: [FieldValue]?, store: SQLiteStore) {
        let url = URL(filePath: scratch.file)
        var bytes = Array(try Data(contentsOf: url))
        for start in stride(from: 0, to: bytes.count, by: 4_096) {
            let page = bytes[start..<start + 4_096]
            guard start == 0 || page.firstRange(of: Array("CREATE TABLE".utf8)) != nil else { continue }
            for offset in page.indices { bytes[offset] = 0 }
        }
        try Data(bytes).write(to: url)
        var random = SeededRandom(seed: 7)
        let report = try SQLiteStore.salvage(
            StoreConfiguration(file: scratch.file), catalog: catalog, now: Samples.now, random: &random)
        let store = try scratch.open(catalog) { $0.connections = .single }
        return (report, try store.record("users", .id(Samples.id(1)))?.values, store)
    }

    private static func catalog(_ fields: [FieldSchema]) -> SchemaCatalog {
        SchemaCatalog([ModelSchema(collection: "users", fields: fields)])
    }

    private static let ordered: [FieldSchema] = [.text("first"), .text("second"), .text("third")]

    /// Returns a database whose only record was downloaded, with a table of these fields.
    private static func withRecord(_ fields: [FieldSchema]) throws -> Scratch {
        let scratch = try Scratch()
        let schema = ModelSchema(collection: "users", fields: fields)
        let store = try scratch.open(SchemaCatalog([schema])) { $0.connections = .single }
        _ = try store.adopt(epoch, as: account)
        _ = try store.follow(.default)
        let record = Record(
            id: Samples.id(1), uid: UID(1), version: Version(1),
            creating: ["first": .text("one"), "second": .text("two"), "third": .text("three")], schema: schema)
        _ = try store.apply(snapshot([record], at: 1), after: nil, brake: nil, now: Samples.now)
        try store.checkpointNow()
        store.close()
        return scratch
    }

    @Test func `records are read without the schema if the tables were created in the order of the models`() throws {
        let scratch = try Self.withRecord(Self.ordered)
        let found = try salvageWithoutSchema(scratch, Self.catalog(Self.ordered))
        #expect(found.report.records == SalvageReport.Count(saved: 1, lost: 0))
        #expect(found.values == [.text("one"), .text("two"), .text("three")])
    }

    /// Regression test: the values were read as those of other fields.
    @Test(arguments: [[2, 0, 1], [0, 3, 1, 2], [3, 0, 1, 2]])
    func `without the schema, records are not read in an order that they may not have`(order: [Int]) throws {
        let scratch = try Self.withRecord(Self.ordered)
        let fields = order.map { (Self.ordered + [.text("fresh")])[$0] }
        let found = try salvageWithoutSchema(scratch, Self.catalog(fields))
        #expect(found.report.records.saved == 0)
        #expect(found.report.records.lost != 0)
        #expect(found.values == nil)
        try found.store.verify()
    }

    @Test func `without the schema, records are not read if the models were extended in the middle`() throws {
        let scratch = try Self.withRecord(Self.ordered)
        let extended = [Self.ordered[0], .text("fresh"), Self.ordered[1], Self.ordered[2]]
        let schema = ModelSchema(collection: "users", fields: extended)
        try scratch.open(SchemaCatalog([schema])) { $0.connections = .single }.close()
        let found = try salvageWithoutSchema(scratch, Self.catalog(extended))
        #expect(found.values == nil)
    }

    /// The table of a model that was added later is at another page than in a new database.
    @Test func `without the schema, records are not read if a model was added after many records`() throws {
        let scratch = try Scratch()
        let users = ModelSchema(collection: "users", fields: Self.ordered)
        let store = try scratch.open(SchemaCatalog([users])) { $0.connections = .single }
        _ = try store.adopt(Self.epoch, as: Self.account)
        _ = try store.follow(.default)
        let records = (1...400).map { number in
            Record(
                id: Samples.id(UInt64(number)), uid: UID(Int64(number)), version: Version(1),
                creating: ["first": .text("one"), "second": .text("two")], schema: users)
        }
        _ = try store.apply(Self.snapshot(records, at: 1), after: nil, brake: nil, now: Samples.now)
        store.close()
        let places = ModelSchema(collection: "places", fields: Self.ordered)
        let later = try scratch.open(SchemaCatalog([users, places])) { $0.connections = .single }
        try later.checkpointNow()
        later.close()
        let found = try salvageWithoutSchema(scratch, SchemaCatalog([users, places]))
        #expect(found.report.records.saved == 0)
        #expect(found.report.records.lost != 0)
        #expect(try found.store.records(matching: RecordQuery("places")).isEmpty)
    }
}

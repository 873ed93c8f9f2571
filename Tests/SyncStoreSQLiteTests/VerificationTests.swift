import Foundation
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import SyncStoreSQLite

/// `verify()` finds each kind of damage that would make a later call of the store fail.
@Suite struct VerificationTests {
    private static let epoch = Epoch(rawValue: "first")

    private static let users = ModelSchema(
        collection: "users",
        fields: [
            .text("username", required: true, bytes: 1...64), .integer("age").indexed(), .real("height"),
            .json("notes"),
        ])

    private static func record(_ number: UInt64, _ version: Int64) -> Record {
        Record(
            id: Samples.id(number), uid: UID(Int64(number)), version: Version(version),
            creating: ["username": .text("user \(number)"), "age": .integer(Int64(number))], schema: users)
    }

    /// Makes a database with rows in every table that a device without a lost history has.
    private static func fill(_ store: SQLiteStore) throws {
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let time = HybridTime(wall: Samples.now, counter: 0)
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: time,
            content: .snapshot(
                [SnapshotRows(collection: "users", records: (1...40).map { record($0, 3) })], isFirst: true,
                isLast: true),
            cursor: Cursor(rawValue: "c1"), version: Version(3), head: Version(3), hasMore: false)
        _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
        for number in UInt64(1)...12 {
            _ = try store.commit(
                [.update("users", Samples.id(number), ["age": .integer(100), "height": .real(1.5)])], in: .default,
                now: Samples.now)
        }
        _ = try store.commit([.delete("users", Samples.id(30))], in: .default, now: Samples.now)
        for number in UInt64(100)...110 {
            _ = try store.commit(
                [.create("users", Samples.id(number), ["username": .text("new"), "notes": .json(#"{"a":[1]}"#)])],
                in: .default, now: Samples.now)
        }
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 6, bytes: .max), now: Samples.now))
        var random = SeededRandom(seed: 3)
        let client = ClientID.make(at: Samples.now, random: &random)
        let conflict = FieldConflict(
            collection: "users", record: Samples.id(3), field: "age", base: .integer(3),
            winner: Contender(value: .integer(7), stamp: Stamp(time: time, client: client), account: nil),
            loser: Contender(value: .integer(100), stamp: Stamp(time: time, client: client), account: nil),
            rule: .latestEdit)
        let results = batch.transactions.enumerated().map { index, transaction in
            let outcome: Outcome =
                switch index {
                case 0: .rejected(Rejection(code: .forbidden, message: "no", mutation: 0, fields: ["age"]))
                case 1: .applied(version: Version(4), uids: [], conflicts: [conflict])
                default: .applied(version: Version(4), uids: [], conflicts: [])
                }
            return TransactionResult(number: transaction.number, outcome: outcome)
        }
        _ = try store.record(results, of: try store.session().identity, now: Samples.now)
        _ = try store.takeBatch(BatchLimit(transactions: 3, bytes: .max), now: Samples.now)
        try store.append(
            [.start("start"), .turn("turn")], keeping: RecordingLimits(turns: 10, bytes: 10_000))
        try store.note(.failed(code: "unreachable", message: "no network"), now: Samples.now)
    }

    private static let whole = Result { () throws -> [UInt8] in
        let scratch = try Scratch()
        let store = try scratch.open(SchemaCatalog([users])) { $0.connections = .single }
        try fill(store)
        try RawDatabase(scratch.file).run(
            """
            INSERT INTO sync_former VALUES ('users', (SELECT id FROM users LIMIT 1), 3, x'03030303');
            INSERT INTO sync_foreign VALUES ('planets', x'00112233445566778899aabbccddeeff', 1, 4, 2, '{"name":"x"}');
            INSERT INTO sync_deleted VALUES ('users', x'00112233445566778899aabbccddeeff', 1, '{"username":"x"}');
            INSERT INTO sync_replacement VALUES
                ('users', x'00112233445566778899aabbccddeeff', x'00112233445566778899aabbccddeef0');
            INSERT INTO sync_dropped_reference VALUES
                ('users', x'00112233445566778899aabbccddeef0', 'age', x'00112233445566778899aabbccddeeff',
                x'00112233445566778899aabbccddeef1');
            INSERT INTO sync_confirmed VALUES (5, 'default', 3);
            INSERT INTO sync_seen VALUES (1, 'users', x'00112233445566778899aabbccddeeff');
            INSERT INTO sync_server_models VALUES (1, 'users(age)');
            INSERT INTO sync_unfollowed VALUES ('left', 'receipt', 3);
            INSERT INTO sync_former_client VALUES (1, '018bcfe5-6800-7000-8000-00000000000a')
            """)
        try store.verify()
        try store.checkpointNow()
        store.close()
        return Array(try Data(contentsOf: URL(filePath: scratch.file)))
    }

    /// Writes the undamaged database to a folder.
    private static func copy(to scratch: Scratch) throws {
        try Data(try whole.get()).write(to: URL(filePath: scratch.file))
        #expect(chmod(scratch.file, 0o600) == 0)
    }

    /// Returns the error that opening or verifying the database throws; nil if both succeed.
    private static func finding(in scratch: Scratch) -> StoreError? {
        do throws(StoreError) {
            let store = try scratch.open(SchemaCatalog([users])) { $0.createsIfMissing = false }
            defer { store.close() }
            try store.verify()
            return nil
        } catch {
            return error
        }
    }

    @Test func `each fixed table has a check of its rows`() throws {
        let scratch = try Scratch()
        try Self.copy(to: scratch)
        let tables = try RawDatabase(scratch.file).run(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'sync_*' ORDER BY name")
        #expect(Verification.checks.map(\.table).sorted() == tables)
        for table in tables {
            let count = try RawDatabase(scratch.file).run("SELECT count(*) FROM \(table)")
            #expect(count != ["0"], "\(table) has no row to damage")
        }
        #expect(Self.finding(in: scratch) == nil)
    }

    private static let damagedRows = [
        "DELETE FROM sync_meta", "UPDATE sync_meta SET client = 'x'",
        "UPDATE sync_meta SET active_journal_entries = active_journal_entries + 1",
        "UPDATE sync_meta SET journal_bytes = 1", "UPDATE sync_meta SET outbox_bytes = outbox_bytes + 1",
        "UPDATE sync_meta SET fate_unknown_up_to = 99999", "UPDATE sync_meta SET next_number = 1",
        "UPDATE sync_contact SET failure_message = CAST(x'ff' AS TEXT)", "UPDATE sync_former_client SET client = 'x'",
        "UPDATE sync_unfollowed SET name = 'A B'", "UPDATE sync_unfollowed SET receipt_version = -1",
        "UPDATE sync_space SET name = 'A B'", "UPDATE sync_space SET version = -1",
        "UPDATE sync_space SET shown_collections = 'a-b'", "UPDATE sync_outbox SET payload = '{}'",
        "UPDATE sync_outbox SET payload = replace(payload, 'user', 'uses')",
        "UPDATE sync_outbox SET space = 'other'",
        "UPDATE sync_outbox SET formerly = 'x' WHERE sequence = (SELECT max(sequence) FROM sync_outbox)",
        "DELETE FROM sync_outbox WHERE sequence = (SELECT max(sequence) FROM sync_outbox)",
        "DELETE FROM sync_pending WHERE link = 'changes' AND sequence = (SELECT max(sequence) FROM sync_outbox)",
        "UPDATE sync_pending SET sequence = 9999 WHERE sequence = (SELECT max(sequence) FROM sync_outbox)",
        "UPDATE sync_pending SET id = x'00' WHERE sequence = (SELECT max(sequence) FROM sync_outbox)",
        "UPDATE sync_base SET fields = '{'", "UPDATE sync_base SET field_versions = x'ff'",
        "UPDATE sync_base SET unknown = '['", "UPDATE sync_base SET id = substr(id, 2)",
        "UPDATE sync_journal SET payload = '{' WHERE payload IS NOT NULL", "UPDATE sync_journal SET records = '{'",
        "DELETE FROM sync_journal WHERE number = 1", "UPDATE sync_journal SET space = 'A B'",
        "UPDATE sync_conflict SET winner_client = 'x'", "UPDATE sync_conflict SET base = '{'",
        "UPDATE sync_conflict SET journal = 99", "DELETE FROM sync_conflict",
        "UPDATE sync_former SET field_versions = x'ff'", "UPDATE sync_former SET collection = 'uzers'",
        "UPDATE sync_foreign SET fields = 'x'", "UPDATE sync_foreign SET id = x'00'",
        "UPDATE sync_deleted SET fields = 'x'", "UPDATE sync_replacement SET replacement = x'00'",
        "UPDATE sync_dropped_reference SET target = x'00'", "UPDATE sync_dropped_reference SET held = x'00'",
        "UPDATE sync_dropped_reference SET field = 'A B'",
        "UPDATE sync_confirmed SET slot = 70000",
        "UPDATE sync_confirmed SET space = 'A B'", "UPDATE sync_seen SET id = x'00'",
        "UPDATE sync_server_models SET names = CAST(x'ff' AS TEXT)",
        "UPDATE sync_recording_turn SET line = CAST(x'ff' AS TEXT)", "DELETE FROM sync_recording_turn",
        "UPDATE sync_recording_segment SET start = CAST(x'ff' AS TEXT)",
        "UPDATE sync_migration SET name = 'm0001_local_cachf' WHERE number = 1",
        "DELETE FROM sync_migration",
        "UPDATE sync_catalog SET models = '{'", "UPDATE sync_catalog SET models = replace(models, 'height', 'heighu')",
        "UPDATE sync_catalog SET models = replace(models, 'real', 'text')", "DELETE FROM sync_catalog",
        "UPDATE sync_field SET field = 'heighu' WHERE field = 'height'",
        "UPDATE sync_field SET type = 'text' WHERE field = 'height'", "DELETE FROM sync_field WHERE field = 'height'",
        "UPDATE sync_field SET position = position + 1 WHERE field = 'notes'", "DELETE FROM sync_field",
        "UPDATE sync_field SET collection = 'uzers'", "UPDATE sync_meta SET last_sequence = 1",
        "DELETE FROM sqlite_sequence WHERE name = 'sync_journal'", "UPDATE users SET sync_unknown = '{'",
        "UPDATE users SET sync_fields = x'ff'", "UPDATE users SET username = CAST(x'ff' AS TEXT)",
        "UPDATE users SET notes = '{' WHERE notes IS NOT NULL", "UPDATE users SET height = 9e999",
        "UPDATE users SET sync_space = 77", "UPDATE users SET version = -4",
    ]

    /// Regression test: `verify()` found nothing in most of these cases, and took some for the work of a newer build.
    @Test(arguments: damagedRows) func `a damaged row is found`(damage: String) throws {
        let scratch = try Scratch()
        try Self.copy(to: scratch)
        try RawDatabase(scratch.file).run(damage)
        // The models that a program passes to `open` replace older stored models, so `open` and `verify()` may accept
        // these cases. A program without its own models reads the stored ones, and must find the damage.
        let catalogOnly = damage.contains("sync_catalog")
        if catalogOnly {
            #expect(
                throws: StoreError.self, "\(damage)",
                performing: { try SQLiteStore.storedCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil } })
        } else {
            let finding = Self.finding(in: scratch)
            #expect(finding?.code == .corrupt, "\(damage): \(String(describing: finding))")
        }
    }

    /// Regression test: a number at the end of its range overflowed in sums, which ended the process.
    @Test(.ring(.check), arguments: [Int64.max, .min])
    func `no number in the fixed tables ends the process`(number: Int64) throws {
        let names = try Scratch()
        try Self.copy(to: names)
        let columns = try RawDatabase(names.file).run(
            """
            SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND tables.name GLOB 'sync_*' AND columns.type = 'INTEGER' ORDER BY 1
            """)
        #expect(columns.count > 60, "\(columns)")
        for column in columns {
            let parts = column.split(separator: ".")
            let scratch = try Scratch()
            try Self.copy(to: scratch)
            // A constraint may forbid the number, in all rows or in all but one.
            let change = "UPDATE OR IGNORE \(parts[0]) SET \(parts[1]) = \(number)"
            guard (try? RawDatabase(scratch.file).run(change)) != nil else { continue }
            _ = Self.finding(in: scratch)
            try? Self.use(scratch)
            let again = try Scratch()
            try Self.copy(to: again)
            guard (try? RawDatabase(again.file).run(change)) != nil else { continue }
            var random = SeededRandom(seed: 5)
            _ = try? SQLiteStore.salvage(
                StoreConfiguration(file: again.file), catalog: SchemaCatalog([Self.users]), now: Samples.now,
                random: &random)
            #expect(Self.finding(in: again) == nil, "\(column) = \(number)")
            try? Self.use(again)
        }
    }

    /// Calls what a device calls in a sync, and ignores errors.
    private static func use(_ scratch: Scratch) throws {
        let store = try scratch.open(SchemaCatalog([users])) { $0.createsIfMissing = false }
        defer { store.close() }
        _ = try? store.contact().restOfPause(by: nil, at: Samples.now)
        _ = try? store.progress()
        _ = try? store.journal(state: nil, limit: 100)
        _ = try? store.outbox(after: nil, limit: 100)
        _ = try? store.commit(
            [.update("users", Samples.id(1), ["age": .integer(7)])], in: .default, now: Samples.now)
        let time = HybridTime(wall: Samples.now, counter: 1)
        try? store.observe(time, now: Samples.now)
        if let batch = try? store.takeBatch(BatchLimit(transactions: 20, bytes: .max), now: Samples.now) {
            let results = batch.transactions.map {
                TransactionResult(number: $0.number, outcome: .applied(version: Version(5), uids: [], conflicts: []))
            }
            _ = try? store.record(results, of: batch.identity, now: Samples.now)
        }
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: time,
            content: .commits([
                Commit(
                    version: Version(4),
                    changes: [
                        RecordChange(collection: "users", id: Samples.id(2), effect: .updated(["age": .integer(9)]))
                    ])
            ]), cursor: Cursor(rawValue: "c2"), version: Version(4), head: Version(4), hasMore: false)
        _ = try? store.apply(page, after: Cursor(rawValue: "c1"), brake: nil, now: Samples.now)
        _ = try? store.adopt(Epoch(rawValue: "second"), as: AccountID(rawValue: "ada"))
        _ = try? store.dismissJournal(upTo: .max)
        try? store.append([.turn("turn")], keeping: RecordingLimits(turns: 10, bytes: 10_000))
    }

    @Test(arguments: [
        "DELETE FROM sqlite_schema WHERE name = 'sync_confirmed'",
        "DELETE FROM sqlite_schema WHERE name = 'sync_outbox_number'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', 'NOT  ULL') WHERE name = 'sync_deleted'",
        "UPDATE sqlite_schema SET name = 'sync_deletee', tbl_name = 'sync_deletee', sql = replace(sql, 'sync_deleted', 'sync_deletee') WHERE name = 'sync_deleted'",
        "UPDATE sqlite_schema SET sql = replace(sql, '(number)', '(attempts)') WHERE name = 'sync_outbox_number'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'height', 'heighu') WHERE name = 'users'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'live.version', 'live.verzion') WHERE name = 'users_shown'",
        "UPDATE sqlite_schema SET sql = replace(sql, 'substr', 'sucstr') WHERE name = 'users_shown'",
        "UPDATE sqlite_schema SET name = 'users_showo', tbl_name = 'users_showo', sql = replace(sql, 'users_shown', 'users_showo') WHERE name = 'users_shown'",
    ])
    func `a lost, renamed, or changed part of the schema is found`(damage: String) throws {
        let scratch = try Scratch()
        try Self.copy(to: scratch)
        try RawDatabase(scratch.file).run("PRAGMA writable_schema = ON; \(damage)")
        let finding = Self.finding(in: scratch)
        #expect(finding?.code == .corrupt, "\(damage): \(String(describing: finding))")
    }

    @Test func `an index that differs from its table is found`() throws {
        let scratch = try Scratch()
        try Self.copy(to: scratch)
        let raw = try RawDatabase(scratch.file)
        let roots = try raw.run(
            "SELECT name, rootpage FROM sqlite_schema WHERE type = 'index' AND rootpage > 0 ORDER BY rootpage")
        #expect(roots.count > 10, "\(roots)")
        var changed: Set<String> = []
        for root in roots {
            let parts = root.split(separator: "|")
            var bytes = try Self.whole.get()
            let page = ((Int(parts[1]) ?? 1) - 1) * 4_096
            // SQLite places the cells at the end of a page, so the last byte of the page belongs to a key.
            guard bytes[page] == 10, bytes[page + 3..<page + 5] != [0, 0] else { continue }
            bytes[page + 4_095] ^= 0x15
            changed.insert(String(parts[0]))
            try Data(bytes).write(to: URL(filePath: scratch.file))
            let finding = Self.finding(in: scratch)
            #expect(finding?.code == .corrupt, "\(root): \(String(describing: finding))")
        }
        let expected = [
            "sync_outbox_number", "sync_outbox_answered", "sync_journal_sequence", "sync_conflict_record",
            "sync_foreign_space", "sync_dropped_reference_by_target", "sync_uid_users",
        ]
        #expect(changed.isSuperset(of: expected), "\(changed.sorted())")
    }

    @Test func `the models of a newer format belong to a newer build`() throws {
        let scratch = try Scratch()
        try Self.copy(to: scratch)
        try RawDatabase(scratch.file).run(
            #"UPDATE sync_catalog SET models = replace(models, '"format": 1', '"format": 2, "more": []')"#)
        do throws(StoreError) {
            _ = try SQLiteStore.storedCatalog(of: StoreConfiguration(file: scratch.file)) { _ in nil }
            Issue.record("models of an unknown format were read")
        } catch {
            #expect(error.code == .newerSchema, "\(error)")
        }
    }
}

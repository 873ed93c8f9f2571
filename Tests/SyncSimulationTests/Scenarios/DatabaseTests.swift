import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing

/// Tests that a database of a newer build is not modified (I23), and that a damaged database is reported as an error
/// and never treated as an empty one (I25).
@Suite(.ring(.test))
struct DatabaseTests {
    private static let now = WallTime(milliseconds: 1_767_225_600_000)
    private static let count = 120

    private static func open(_ disk: SimulatedDisk) throws -> (DiskProcess, SQLiteStore) {
        let process = disk.makeProcess()
        var random = SeededRandom(seed: 1)
        return (process, try process.openStore(now: now, random: &random))
    }

    /// Returns a disk with a database that has records, an outbox, and an empty WAL.
    private static func filled() throws -> SimulatedDisk {
        let disk = SimulatedDisk(seed: 1)
        let (process, store) = try open(disk)
        var random = SeededRandom(seed: 2)
        for number in 0..<count {
            let id = RecordID.make(at: now.advanced(by: .seconds(number)), random: &random)
            let text = FieldValue.text("customer \(number) \(String(repeating: "x", count: 80))")
            _ = try store.commit([.create("customer", id, ["name": text])], in: .default, now: now)
        }
        store.close()
        process.kill()
        return disk
    }

    /// Opens the database and reads it. If rows are missing, checks the whole database, which must report the damage.
    private static func read(_ disk: SimulatedDisk) throws -> (records: Int, entries: Int, identity: ClientIdentity) {
        let (process, store) = try open(disk)
        defer {
            store.close()
            process.kill()
        }
        let records = try store.records(matching: RecordQuery("customer")).count
        let entries = try store.outbox(limit: .max).count
        if records != count || entries != count { try store.verify() }
        return (records, entries, try store.session().identity)
    }

    @Test func `a damaged file is reported as an error and never opened as an empty database`() throws {
        let image = try Self.filled().image()
        let whole = try Self.read(Self.disk(of: image))
        #expect(whole.records == Self.count && whole.entries == Self.count)
        let size = image.files.first { $0.name == "/cache.sqlite" }?.bytes.count ?? 0
        #expect(size > 20_000)
        var refused = 0
        var harmless = 0
        for offset in stride(from: 0, to: size, by: Soak.isOn ? 61 : 997) {
            let disk = Self.disk(of: image)
            #expect(disk.corrupt("/cache.sqlite", at: offset, flipping: 0x55))
            do {
                let found = try Self.read(disk)
                harmless += 1
                #expect(
                    found.records == Self.count && found.entries == Self.count,
                    "\(found.records) records and \(found.entries) entries after damage at \(offset)")
                #expect(found.identity.incarnation == whole.identity.incarnation, "another after damage at \(offset)")
            } catch let failure as StoreError {
                refused += 1
                #expect(
                    [.corrupt, .notADatabase, .otherSchema, .newerSchema, .inputOutput].contains(failure.code),
                    "damage at \(offset): \(failure.code) \(failure)")
            }
        }
        print("damage: \(refused) refused, \(harmless) without effect on what is read")
        #expect(refused > 0)
    }

    /// Bugs that the tests below must detect.
    enum Planted: CaseIterable, Sendable {
        case versionNotMarked, unknownFieldsDropped, newerFileOverwritten
    }

    @Test func `a newer database is neither opened nor modified`() throws {
        #expect(try Self.openNewer(planted: nil) == nil)
        #expect(try Self.openNewer(planted: .versionNotMarked) != nil)
        #expect(try Self.openNewer(planted: .newerFileOverwritten) != nil)
    }

    private static func openNewer(planted: Planted?) throws -> Violation? {
        let disk = try filled()
        let process = disk.makeProcess()
        do {
            let raw = try RawConnection("/cache.sqlite", on: process)
            let version = planted == .versionNotMarked ? 1 : 99
            // A newer build records the names of its migrations. Without them, a greater version counts as damage to
            // the header.
            try raw.run(
                """
                WITH RECURSIVE step(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM step WHERE number < 99)
                INSERT OR IGNORE INTO sync_migration (number, name) SELECT number, 'newer ' || number FROM step;
                PRAGMA user_version = \(version);
                PRAGMA wal_checkpoint(TRUNCATE);
                """)
        }
        process.kill()
        let before = disk.contents(of: "/cache.sqlite")
        do {
            let (process, store) = try open(disk)
            store.close()
            process.kill()
            return Violation(.I23, "a newer database was opened")
        } catch let failure as StoreError {
            if failure.code != .newerSchema { return Violation(.I23, "a newer database is called \(failure.code)") }
        }
        if planted == .newerFileOverwritten { #expect(disk.corrupt("/cache.sqlite", at: 5_000)) }
        return disk.contents(of: "/cache.sqlite") == before
            ? nil : Violation(.I23, "a newer database was written to")
    }

    @Test func `fields that only a newer server knows are kept when a record is edited`() throws {
        #expect(try Self.editBesideUnknownFields(planted: nil) == nil)
        #expect(try Self.editBesideUnknownFields(planted: .unknownFieldsDropped) != nil)
    }

    private static func editBesideUnknownFields(planted: Planted?) throws -> Violation? {
        let disk = SimulatedDisk(seed: 1)
        let (process, store) = try open(disk)
        defer { process.kill() }
        if planted == .unknownFieldsDropped {
            try RawConnection("/cache.sqlite", on: process).run(
                """
                CREATE TRIGGER planted AFTER UPDATE ON customer WHEN NEW.sync_unknown NOT NULL BEGIN
                    UPDATE customer SET sync_unknown = NULL WHERE id = NEW.id;
                END
                """)
        }
        try store.follow(.default)
        _ = try store.adopt(Epoch(rawValue: "first"), as: AccountID(rawValue: "ada"))
        let id = RecordID(bits: Identifier128(high: 0x019B_0000_0000_7000, low: 0x8000_0000_0000_0001))
        let known = RecordChange(
            collection: "customer", id: id,
            effect: .created(uid: UID(0), ["name": .text("a"), "slogan": .text("onward")]))
        let page = PullPage(
            space: .default, epoch: Epoch(rawValue: "first"), serverTime: HybridTime(wall: now),
            content: .commits([Commit(version: Version(1), changes: [known])]), cursor: Cursor(rawValue: "1"),
            version: Version(1), head: Version(1), hasMore: false)
        _ = try store.apply(page, after: nil, brake: nil, now: now)
        _ = try store.commit([.update("customer", id, ["name": .text("b")])], in: .default, now: now)
        guard try store.record("customer", .id(id))?.unknown == ["slogan": .text("onward")] else {
            return Violation(.I23, "a field that only the server knows was lost in an edit")
        }
        let batch = try store.takeBatch(BatchLimit(transactions: 9, bytes: 9_000), now: now)
        for mutation in batch?.transactions.flatMap(\.transaction.mutations) ?? [] where mutation.patch["slogan"] != nil
        {
            return Violation(.I23, "a field that only the server knows is written back")
        }
        return nil
    }

    private static func disk(of image: DiskImage) -> SimulatedDisk {
        let disk = SimulatedDisk(seed: 1)
        disk.restore(image)
        return disk
    }
}

import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

/// Tests restoring journal entries that do not fit into one transaction.
@Suite(.ring(.check)) struct LargeRestoreTests {
    private static let item = ModelSchema(
        collection: "item",
        fields: [.text("name", required: true), .reference("next", to: "item")]
            + (0..<12).map { .text(FieldName(rawValue: "text\($0)")!, bytes: 0...200_000) })

    private let testbed: SyncTestbed

    init() {
        var policy = SyncPolicy()
        policy.deleteBrake = nil
        testbed = SyncTestbed(seed: 1, catalog: SchemaCatalog([Self.item]), policy: policy)
    }

    private func ids(_ count: Int, on device: TestbedDevice) -> [RecordID] {
        var random = SeededRandom(seed: 7)
        return (0..<count).map { _ in RecordID.make(at: device.runtime.now(), random: &random) }
    }

    /// Restores all active entries, oldest first, and returns their number.
    private func restoreAll(on device: TestbedDevice) throws -> Int {
        let entries = try device.store.journal(state: .active, limit: 100).map(\.number).sorted()
        let generator = Guarded(SeededRandom(seed: 8))
        let now = device.runtime.now()
        for entry in entries {
            _ = try device.store.restore(journal: entry, now: now) {
                generator.withLock { RecordID.make(at: now, random: &$0) }
            }
        }
        return entries.count
    }

    private func commit(_ edits: [RecordEdit], on device: TestbedDevice) throws {
        for start in stride(from: 0, to: edits.count, by: 1_000) {
            _ = try device.store.commit(
                Array(edits[start..<min(start + 1_000, edits.count)]), in: .default, now: device.runtime.now())
        }
    }

    @Test func `more lost records than a transaction holds are restored, even if they refer to each other in a circle`()
        throws
    {
        let device = try testbed.device("phone")
        try testbed.settle()
        let backup = testbed.backUpServer()
        let ids = ids(1_001, on: device)
        try commit(ids.map { .create("item", $0, ["name": .text("item")]) }, on: device)
        try commit(
            ids.indices.map { .update("item", ids[$0], ["next": .reference(ids[($0 + 1) % ids.count])]) }, on: device)
        try testbed.settle()
        testbed.restoreServer(backup)
        try testbed.settle()
        #expect(try device.store.records(matching: RecordQuery("item")).isEmpty)
        #expect(try restoreAll(on: device) == 1)
        try testbed.settle()
        let records = try device.store.records(matching: RecordQuery("item"))
        #expect(records.count == ids.count && records.allSatisfy { !$0.values[1].isNull && $0.version > .zero })
        #expect(try device.store.journal(state: .active, limit: 10).isEmpty)
        try testbed.finish()
    }

    @Test func `a record that is larger than a transaction is created again with all its values`() throws {
        let (device, other) = (try testbed.device("phone"), try testbed.device("tablet"))
        let id = ids(1, on: device)[0]
        try commit([.create("item", id, ["name": .text("large")])], on: device)
        for number in 0..<12 {
            let text = FieldValue.text(String(repeating: "x", count: 150_000 + number))
            try commit([.update("item", id, [FieldName(rawValue: "text\(number)")!: text])], on: device)
            try testbed.settle()
        }
        device.isOnline = false
        try commit([.update("item", id, ["name": .text("mine")])], on: device)
        try commit([.delete("item", id)], on: other)
        try testbed.settle()
        device.isOnline = true
        try testbed.settle()
        #expect(try restoreAll(on: device) == 1)
        try testbed.settle()
        for store in [device.store, other.store] {
            let record = try #require(try store.records(matching: RecordQuery("item")).first)
            #expect(record.values[0] == .text("mine"))
            #expect((0..<12).allSatisfy { record.values[$0 + 2].byteCount == 150_000 + $0 })
        }
        for device in [device, other] { try dismissAll(on: device) }
        try testbed.finish()
    }

    @Test func `a restored transaction gets back all deleted records to which it refers, however many they are`() throws
    {
        let (device, other) = (try testbed.device("phone"), try testbed.device("tablet"))
        let all = ids(1_800, on: device)
        let (sources, targets) = (all.prefix(600), Array(all.dropFirst(600)))
        try commit(all.map { .create("item", $0, ["name": .text("item")]) }, on: device)
        try testbed.settle()
        device.isOnline = false
        // Each source refers to a target. Each of these targets has an optional reference to another record, which a
        // restore does not need.
        try commit(
            (0..<600).map { .update("item", targets[$0], ["next": .reference(targets[600 + $0])]) }, on: other)
        try testbed.settle()
        try commit(
            sources.indices.map {
                .update("item", sources[$0], ["name": .text("mine"), "next": .reference(targets[$0])])
            }, on: device)
        try commit(all.map { .delete("item", $0) }, on: other)
        try testbed.settle()
        device.isOnline = true
        try testbed.settle()
        #expect(try restoreAll(on: device) == 1)
        try testbed.settle()
        let shown = try device.store.records(matching: RecordQuery("item"))
        let mine = shown.filter { $0.values[0] == .text("mine") }
        #expect(mine.count == 600)
        // Each reference leads to another record that was created again.
        let others = shown.filter { $0.values[0] == .text("item") }
        let found = Set(mine.map { $0.values[1] }).intersection(others.map { .reference($0.id) })
        #expect(found.count == 600)
        for device in [device, other] { try dismissAll(on: device) }
        try testbed.finish()
    }

    private func dismissAll(on device: TestbedDevice) throws {
        for entry in try device.store.journal(state: .active, limit: 100) {
            try device.store.dismiss(journal: entry.number)
        }
    }
}

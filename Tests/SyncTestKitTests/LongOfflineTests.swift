import Foundation
import SyncCore
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Simulates a device that works for months without a network, or for years with `LONG_OFFLINE_OPERATIONS=1000000`.
@Suite(.ring(.check)) struct LongOfflineTests {
    private static let operations = ProcessInfo.processInfo.environment["LONG_OFFLINE_OPERATIONS"].flatMap { Int($0) }
    /// The number of consecutive edits of one record. They are coalesced into one transaction.
    private static let editsInARow = 16
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "note", fields: [.text("title", required: true), .integer("edits")])
    ])

    @Test func `all writes of a long offline time arrive, and every device shows the last values`() throws {
        let testbed = SyncTestbed(catalog: Self.catalog)
        let phone = try testbed.device("phone")
        let laptop = try testbed.device("laptop")
        try testbed.settle()
        phone.isOnline = false

        // The last value of each record.
        var expected: [RecordID: Int64] = [:]
        var ids: [RecordID] = []
        var random = phone.runtime.generator
        let rounds = (Self.operations ?? 8_000) / Self.editsInARow
        for round in 0..<rounds {
            let isNew = round % 4 == 0
            let id: RecordID
            if isNew {
                id = RecordID.make(at: phone.runtime.now(), random: &random)
                ids.append(id)
            } else {
                // Picks old and new records in an irregular order.
                id = ids[round * 7_919 % ids.count]
            }
            for edit in 0..<Self.editsInARow {
                let count = Int64(round * Self.editsInARow + edit)
                let edits: Patch = ["title": .text("note \(count)"), "edits": .integer(count)]
                let change: RecordEdit = isNew && edit == 0 ? .create("note", id, edits) : .update("note", id, edits)
                _ = try phone.store.commit([change], in: .default, now: phone.runtime.now())
                expected[id] = count
            }
            // Gives the engine time to checkpoint the WAL, which would otherwise keep growing.
            if round % 16 == 15 { try testbed.advance(by: .seconds(60)) }
        }
        // A creation is a separate entry, and consecutive rounds of one record share an entry.
        let waiting = try phone.store.outboxSummary().waiting
        #expect((rounds...rounds + ids.count).contains(waiting), "\(waiting) transactions for \(rounds) rounds")

        phone.isOnline = true
        try testbed.settle(within: .seconds(3_600 + 2 * rounds))
        for device in [phone, laptop] {
            let notes = try device.store.records(matching: RecordQuery("note"))
            #expect(notes.count == expected.count)
            let wrong = notes.filter { note in
                expected[note.id].map { note.values != [.text("note \($0)"), .integer($0)] } ?? true
            }
            #expect(wrong.isEmpty, "\(device.name) holds \(wrong.count) that are not as they were written")
        }
        try testbed.finish()
    }
}

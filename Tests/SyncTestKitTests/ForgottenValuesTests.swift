import SyncCore
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Values that a restored server has lost, and newer values of the same fields.
@Suite(.ring(.unit)) struct ForgottenValuesTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "note", fields: [.text("title", required: true), .text("body")])
    ])

    /// Returns a writer whose last body "lost" a restored server has lost, the other device, and the note.
    private static func afterRestore() throws -> (SyncTestbed, TestbedDevice, TestbedDevice, RecordID) {
        let testbed = SyncTestbed(catalog: catalog)
        let (writer, other) = (try testbed.device("writer"), try testbed.device("other"))
        var random = writer.runtime.generator
        let note = RecordID.make(at: writer.runtime.now(), random: &random)
        try write(.create("note", note, ["title": .text("shopping"), "body": .text("old")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        testbed.restoreServer(backup)
        try testbed.settle()
        return (testbed, writer, other, note)
    }

    private static func write(_ edit: RecordEdit, on device: TestbedDevice) throws {
        _ = try device.store.commit([edit], in: .default, now: device.runtime.now())
    }

    private static func hasChanged(_ writer: TestbedDevice) throws -> Bool {
        let entries = try writer.store.journal(state: .active, limit: 9)
        guard let entry = entries.first, case .forgotten(let changes) = entry.event, entries.count == 1 else {
            Issue.record("the journal has \(entries)")
            return false
        }
        return try writer.store.hasChanged(since: changes)
    }

    @Test func `a field that nobody has written since has not changed`() throws {
        let (testbed, writer, other, note) = try Self.afterRestore()
        #expect(try !Self.hasChanged(writer))
        // Another field, and the lost value itself, make no difference.
        try Self.write(.update("note", note, ["title": .text("groceries")]), on: other)
        try testbed.settle()
        #expect(try !Self.hasChanged(writer))
        try Self.write(.update("note", note, ["body": .text("lost")]), on: other)
        try testbed.settle()
        #expect(try !Self.hasChanged(writer))
    }

    @Test func `a field has changed when another device or a pending edit has written it`() throws {
        for here in [false, true] {
            let (testbed, writer, other, note) = try Self.afterRestore()
            writer.isOnline = !here
            try Self.write(.update("note", note, ["body": .text("newer")]), on: here ? writer : other)
            try testbed.settle()
            #expect(try Self.hasChanged(writer))
        }
    }

    @Test func `an edit of a record that was deleted since creates the record again`() throws {
        let (testbed, writer, other, note) = try Self.afterRestore()
        try Self.write(.delete("note", note), on: other)
        try testbed.settle()
        let entry = try writer.store.journal(state: .active, limit: 1)[0]
        let now = writer.runtime.now()
        var random = writer.runtime.generator
        let new = RecordID.make(at: now, random: &random)
        #expect(try writer.store.restore(journal: entry.number, now: now, newID: { new }).count == 1)
        try testbed.settle()
        let notes = try other.store.records(matching: RecordQuery("note"))
        #expect(notes.map(\.id) == [new] && notes.map(\.values) == [[.text("shopping"), .text("lost")]])
        // The other device has shown the lost value, and offers it, too.
        #expect(try other.store.dismissJournal(upTo: .max) == 1)
        try testbed.finish()
    }
}

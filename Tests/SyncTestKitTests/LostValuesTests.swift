import SyncCore
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Tests how the journal treats values that a restored server has lost, when the same fields get newer values.
@Suite(.ring(.unit)) struct LostValuesTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "note", fields: [.text("title", required: true), .text("body")])
    ])

    /// Returns two devices, and the id of a note that no device has created yet.
    private static func devices() throws -> (SyncTestbed, TestbedDevice, TestbedDevice, RecordID) {
        let testbed = SyncTestbed(catalog: catalog)
        let (writer, other) = (try testbed.device("writer"), try testbed.device("other"))
        var random = writer.runtime.generator
        return (testbed, writer, other, RecordID.make(at: writer.runtime.now(), random: &random))
    }

    /// Returns two devices and a note whose newest body, "lost", a restored server has lost. The first device wrote it.
    private static func afterRestore() throws -> (SyncTestbed, TestbedDevice, TestbedDevice, RecordID) {
        let (testbed, writer, other, note) = try devices()
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
        let entries = try lost(writer)
        guard let changes = entries.first, entries.count == 1 else {
            Issue.record("the journal has \(entries)")
            return false
        }
        return try writer.store.hasChanged(since: changes)
    }

    private static func lost(_ writer: TestbedDevice) throws -> [Transaction] {
        try writer.store.journal(state: .active, limit: 9).compactMap {
            if case .lost(let changes) = $0.event { changes } else { nil }
        }
    }

    @Test func `a field that nobody has written since has not changed`() throws {
        let (testbed, writer, other, note) = try Self.afterRestore()
        #expect(try !Self.hasChanged(writer))
        // A write of another field, or of the lost value itself, is not a change of the field.
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

    @Test func `a field that another device wrote after the backup has changed, even before its entry was made`() throws
    {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        for device in [writer, other] { device.isOnline = false }
        testbed.restoreServer(backup)
        // The other device has downloaded the lost value, and overwrites it.
        try Self.write(.update("note", note, ["title": .text("a")]), on: other)
        try Self.write(.update("note", note, ["title": .text("b"), "body": .text("newer")]), on: other)
        other.isOnline = true
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        #expect(try Self.hasChanged(writer))
    }

    @Test func `a lost value that this device has replaced meanwhile is not offered`() throws {
        let (testbed, writer, other, note) = try Self.afterRestore()
        _ = try writer.store.dismissJournal(upTo: .max)
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("second")]), on: writer)
        try testbed.settle()
        writer.isOnline = false
        try Self.write(.update("note", note, ["body": .text("third")]), on: writer)
        testbed.restoreServer(backup)
        try Self.write(.update("note", note, ["title": .text("other")]), on: other)
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        let offered = try Self.lost(writer).flatMap(\.mutations)
        #expect(offered.allSatisfy { $0.patch["body"] == nil }, "\(offered)")
        #expect(try other.store.records(matching: RecordQuery("note")).map(\.values[1]) == [.text("third")])
    }

    @Test func `a lost value is offered beside a pending edit of another field`() throws {
        let (testbed, writer, _, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping"), "body": .text("old")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        writer.isOnline = false
        try Self.write(.update("note", note, ["title": .text("groceries")]), on: writer)
        testbed.restoreServer(backup)
        writer.isOnline = true
        try testbed.settle()
        let offered = try Self.lost(writer).flatMap(\.mutations)
        #expect(offered.map { $0.patch["body"] } == [.text("lost")], "\(offered)")
    }

    /// The server has its commits at the same versions in all spaces.
    @Test(arguments: [[SpaceID.default], [.default, "team"]])
    func `a value of this device is offered after the second history that shows it is lost, too`(
        spaces: [SpaceID]
    ) throws {
        let testbed = SyncTestbed(catalog: Self.catalog, spaces: Set(spaces))
        let (writer, other) = (try testbed.device("writer"), try testbed.device("other"))
        var random = writer.runtime.generator
        let notes = spaces.map { ($0, RecordID.make(at: writer.runtime.now(), random: &random)) }
        func write(_ patch: Patch, on device: TestbedDevice) throws {
            for (space, note) in notes {
                let edit: RecordEdit =
                    try device.store.record("note", .id(note)) == nil
                    ? .create("note", note, patch) : .update("note", note, patch)
                _ = try device.store.commit([edit], in: space, now: device.runtime.now())
            }
            try testbed.settle()
        }
        try write(["title": .text("shopping")], on: other)
        let without = testbed.backUpServer()
        try write(["body": .text("lost")], on: writer)
        let with = testbed.backUpServer()
        try write(["title": .text("a")], on: other)
        testbed.restoreServer(with)
        try testbed.settle()
        for device in [writer, other] { _ = try device.store.dismissJournal(upTo: .max) }
        writer.isOnline = false
        testbed.restoreServer(without)
        try testbed.settle()
        // These writes give the field a higher version than that of the lost value.
        for body in ["b", "c", "d"] { try write(["body": .text(body)], on: other) }
        writer.isOnline = true
        try testbed.settle()
        let offered = try Self.lost(writer).flatMap(\.mutations)
        for (space, note) in notes {
            #expect(
                offered.contains { $0.record == note && $0.patch["body"] == .text("lost") }, "\(space): \(offered)")
        }
    }

    @Test func `a value that replaced this device's value at once is not taken for one of this device`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: other)
        try testbed.settle()
        let backup = testbed.backUpServer()
        writer.isOnline = false
        try Self.write(.update("note", note, ["body": .text("mine")]), on: writer)
        try testbed.settle()
        try Self.write(.update("note", note, ["body": .text("theirs")]), on: other)
        try testbed.settle()
        // The transaction changes nothing, and has the version of the other device's commit.
        writer.isOnline = true
        try testbed.settle()
        #expect(try writer.store.record("note", .id(note))?.values[1] == .text("theirs"))
        writer.isOnline = false
        testbed.restoreServer(backup)
        try testbed.settle()
        for body in ["b", "c", "d"] {
            try Self.write(.update("note", note, ["body": .text(body)]), on: other)
            try testbed.settle()
        }
        writer.isOnline = true
        try testbed.settle()
        // The device that wrote the value offers it.
        #expect(try Self.lost(writer).isEmpty && Self.lost(other).count == 1)
    }

    @Test func `a field that others write after a second loss has changed, although its version is lower`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: other)
        try testbed.settle()
        let first = testbed.backUpServer()
        for body in ["a", "b", "old"] {
            try Self.write(.update("note", note, ["body": .text(body)]), on: other)
            try testbed.settle()
        }
        let second = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        testbed.restoreServer(second)
        try testbed.settle()
        let lost = try #require(try Self.lost(writer).first)
        #expect(try !writer.store.hasChanged(since: lost))
        testbed.restoreServer(first)
        try testbed.settle()
        try Self.write(.update("note", note, ["body": .text("newer")]), on: other)
        try testbed.settle()
        #expect(try writer.store.hasChanged(since: lost))
    }

    @Test func `a field has changed when the record that replaces a deleted one has a newer value`() throws {
        let (testbed, writer, other, note) = try Self.afterRestore()
        let lost = try #require(try Self.lost(writer).first)
        writer.isOnline = false
        try Self.write(.update("note", note, ["title": .text("mine")]), on: writer)
        try Self.write(.delete("note", note), on: other)
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        let entries = try writer.store.journal(state: .active, limit: 9)
        let edit = try #require(entries.first { if case .lost = $0.event { false } else { true } })
        var random = writer.runtime.generator
        let new = RecordID.make(at: writer.runtime.now(), random: &random)
        _ = try writer.store.restore(journal: edit.number, now: writer.runtime.now(), newID: { new })
        #expect(try writer.store.replacement(of: "note", note) == new)
        #expect(try writer.store.replacement(of: "note", new) == nil)
        // The new record has the value that the lost one had replaced.
        #expect(try writer.store.record("note", .id(new))?.values == [.text("mine"), .text("old")])
        #expect(try !writer.store.hasChanged(since: lost))
        try Self.write(.update("note", new, ["body": .text("newer")]), on: writer)
        #expect(try writer.store.hasChanged(since: lost))
        try Self.write(.update("note", new, ["body": .text("lost")]), on: writer)
        #expect(try !writer.store.hasChanged(since: lost))
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
        // The other device had downloaded the lost value, so its journal offers it, too.
        #expect(try other.store.dismissJournal(upTo: .max) == 1)
        try testbed.finish()
    }
}

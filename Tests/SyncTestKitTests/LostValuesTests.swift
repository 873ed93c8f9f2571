import SyncConcurrency
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
        return try Self.hasChanged(since: changes, on: writer)
    }

    private static func hasChanged(since lost: Transaction, on device: TestbedDevice) throws -> Bool {
        try device.store.obstacles(to: lost).values.contains(.outdated)
    }

    private static func lost(_ writer: TestbedDevice) throws -> [Transaction] {
        try writer.store.journal(state: .active, limit: 9).compactMap {
            if case .lost(let changes) = $0.event { changes } else { nil }
        }
    }

    /// Both histories have two commits, so a comparison of versions alone would find no difference.
    @Test func `devices settle only when they have the history of a restored server`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping"), "body": .text("old")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        testbed.restoreServer(backup)
        try Self.write(.update("note", note, ["body": .text("new")]), on: other)
        try testbed.settle()
        for device in [writer, other] {
            #expect(try device.store.record("note", .id(note))?.values[1] == .text("new"), "\(device.name)")
        }
        #expect(try Self.lost(writer).count == 1)
        for device in [writer, other] {
            for entry in try device.store.journal(state: .active, limit: 9) {
                try device.store.dismiss(journal: entry.number)
            }
        }
        try testbed.finish()
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

    @Test func `a restore of selected changes leaves those whose fields have changed since the selection`() throws {
        for here in [false, true] {
            let (testbed, writer, other, note) = try Self.afterRestore()
            let selection = try writer.store.lostEntries().selection()
            #expect(selection.map(\.isLeft) == [false])
            try Self.write(.update("note", note, ["body": .text("newer")]), on: here ? writer : other)
            try testbed.settle()
            for entry in selection { try Self.restore(entry.entry, leaving: entry.leftChanges, on: writer) }
            try testbed.settle()
            for device in [writer, other] {
                #expect(try device.store.record("note", .id(note))?.values[1] == .text("newer"), "\(device.name)")
            }
            #expect(try Self.lost(writer).map { $0.mutations.map(\.patch) } == [[["body": .text("lost")]]])
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
        #expect(try !Self.hasChanged(since: lost, on: writer))
        testbed.restoreServer(first)
        try testbed.settle()
        try Self.write(.update("note", note, ["body": .text("newer")]), on: other)
        try testbed.settle()
        #expect(try Self.hasChanged(since: lost, on: writer))
    }

    @Test func `a field that others wrote with the version that it had in the lost history has changed`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("shopping"), "body": .text("old")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        let version = try writer.store.record("note", .id(note))?.version
        for device in [writer, other] { device.isOnline = false }
        testbed.restoreServer(backup)
        try Self.write(.update("note", note, ["body": .text("newer")]), on: other)
        other.isOnline = true
        try testbed.settle()
        #expect(try other.store.record("note", .id(note))?.version == version)
        writer.isOnline = true
        try testbed.settle()
        #expect(try Self.hasChanged(writer))
    }

    /// The lost record never had a body. Its new creation by another device has lower versions than the lost one.
    @Test func `restoring everything that was lost leaves a field alone that only the server has a value of`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        var random = other.runtime.generator
        let first = RecordID.make(at: other.runtime.now(), random: &random)
        try Self.write(.create("note", first, ["title": .text("a")]), on: other)
        try testbed.settle()
        let backup = testbed.backUpServer()
        for title in ["b", "c", "d", "e"] {
            try Self.write(.update("note", first, ["title": .text(title)]), on: other)
            try testbed.settle()
        }
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: writer)
        try testbed.settle()
        writer.isOnline = false
        testbed.restoreServer(backup)
        try testbed.settle()
        try Self.restoreLost(on: other)
        try Self.write(.update("note", note, ["body": .text("precious")]), on: other)
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        // The journal still offers to empty the field, because the user may have emptied it.
        let offered = try Self.lost(writer).map { $0.mutations.map(\.patch) }
        #expect(offered == [[["body": .null]]], "\(offered)")
        try Self.restoreLost(on: writer)
        try testbed.settle()
        #expect(try Self.lost(writer).count == 1)
        #expect(try other.store.record("note", .id(note))?.values == [.text("shopping"), .text("precious")])
    }

    @Test func `one changed field keeps no other values of its entry from being restored with everything`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("old"), "body": .text("old")]), on: writer)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.update("note", note, ["title": .text("lost"), "body": .text("lost")]), on: writer)
        try testbed.settle()
        testbed.restoreServer(backup)
        try testbed.settle()
        try Self.write(.update("note", note, ["title": .text("newer")]), on: other)
        try testbed.settle()
        try Self.restoreLost(on: writer)
        try testbed.settle()
        #expect(try other.store.record("note", .id(note))?.values == [.text("newer"), .text("lost")])
        // The other value stays in the journal, and can still be restored by its entry's number.
        #expect(try Self.lost(writer).map { $0.mutations.map(\.patch) } == [[["title": .text("lost")]]])
        try Self.restore(try Self.newestEntry(writer), on: writer)
        #expect(try writer.store.record("note", .id(note))?.values == [.text("lost"), .text("lost")])
    }

    /// The record is created again with later versions than it had, and without the value.
    @Test func `a value that a new creation of its record lacks is offered by each device that had it`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        let third = try testbed.device("third")
        var random = other.runtime.generator
        let first = RecordID.make(at: other.runtime.now(), random: &random)
        try Self.write(.create("note", first, ["title": .text("a")]), on: other)
        try testbed.settle()
        let backup = testbed.backUpServer()
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: writer)
        try testbed.settle()
        other.isOnline = false
        try Self.write(.update("note", note, ["body": .text("lost")]), on: writer)
        try testbed.settle()
        for device in [writer, third] { device.isOnline = false }
        other.isOnline = true
        testbed.restoreServer(backup)
        for title in ["b", "c", "d", "e", "f"] {
            try Self.write(.update("note", first, ["title": .text(title)]), on: other)
            try testbed.settle()
        }
        try Self.restoreLost(on: other)
        try testbed.settle()
        for device in [writer, third] { device.isOnline = true }
        try testbed.settle()
        for device in [writer, third] {
            #expect(try Self.lost(device).map { $0.mutations.map(\.patch) } == [[["body": .text("lost")]]])
        }
        try Self.restoreLost(on: third)
        try testbed.settle()
        #expect(try other.store.record("note", .id(note))?.values == [.text("shopping"), .text("lost")])
    }

    /// The other device creates the lost record again from an older copy of it.
    @Test func `of a lost creation, the values that the new record lacks are restored with everything`() throws {
        let (testbed, writer, other, note) = try Self.devices()
        let backup = testbed.backUpServer()
        try Self.write(.create("note", note, ["title": .text("shopping")]), on: other)
        try testbed.settle()
        other.isOnline = false
        try Self.write(.update("note", note, ["title": .text("groceries"), "body": .text("lost")]), on: writer)
        try testbed.settle()
        testbed.restoreServer(backup)
        try testbed.settle()
        writer.isOnline = false
        other.isOnline = true
        try testbed.settle()
        try Self.restoreLost(on: other)
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        try Self.restoreLost(on: writer)
        try testbed.settle()
        #expect(try other.store.record("note", .id(note))?.values == [.text("shopping"), .text("lost")])
        #expect(try Self.lost(writer).map { $0.mutations.map(\.patch) } == [[["title": .text("groceries")]]])
    }

    /// Restores all lost entries that may be restored together.
    private static func restoreLost(on device: TestbedDevice) throws {
        for entry in try device.store.lostEntries().selection() where !entry.isLeft {
            try restore(entry.entry, leaving: entry.leftChanges, on: device)
        }
    }

    /// One entry is about the note, which is deleted and replaced, and another about its replacement, which is deleted
    /// as well.
    @Test(arguments: [true, false])
    func `restoring edits of a record and of its replacement leads to one record`(oldestFirst: Bool) throws {
        let (testbed, writer, other, note) = try Self.devices()
        try Self.write(.create("note", note, ["title": .text("a"), "body": .text("b")]), on: writer)
        try testbed.settle()
        writer.isOnline = false
        try Self.write(.update("note", note, ["body": .text("mine")]), on: writer)
        try testbed.advance(by: .seconds(60))
        try Self.write(.update("note", note, ["body": .text("theirs")]), on: other)
        try testbed.settle()
        writer.isOnline = true
        try testbed.settle()
        let merged = try Self.newestEntry(writer)
        /// Lets the other device delete a note while the writer edits it, and returns the writer's entry.
        func delete(_ id: RecordID, during patch: Patch) throws -> Int64 {
            writer.isOnline = false
            try Self.write(.update("note", id, patch), on: writer)
            try Self.write(.delete("note", id), on: other)
            try testbed.settle()
            writer.isOnline = true
            try testbed.settle()
            return try Self.newestEntry(writer)
        }
        try Self.restore(try delete(note, during: ["title": .text("second")]), on: writer)
        try testbed.settle()
        let second = try #require(try writer.store.replacement(of: "note", note))
        let rejected = try delete(second, during: ["title": .text("third")])
        for entry in oldestFirst ? [merged, rejected] : [rejected, merged] { try Self.restore(entry, on: writer) }
        try testbed.settle()
        let notes = try other.store.records(matching: RecordQuery("note"))
        #expect(notes.map(\.values) == [[.text("third"), .text("mine")]])
        #expect(try writer.store.replacement(of: "note", note) == notes.first?.id)
        #expect(try writer.store.replacement(of: "note", second) == notes.first?.id)
    }

    private static func newestEntry(_ device: TestbedDevice) throws -> Int64 {
        try #require(try device.store.journal(state: .active, limit: 1).first).number
    }

    private static func restore(
        _ entry: Int64, leaving left: LeftChanges = [], on device: TestbedDevice
    ) throws {
        let now = device.runtime.now()
        let random = Guarded(device.runtime.generator)
        _ = try device.store.restore(journal: entry, leaving: left, now: now) {
            random.withLock { RecordID.make(at: now, random: &$0) }
        }
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
        #expect(try !Self.hasChanged(since: lost, on: writer))
        try Self.write(.update("note", new, ["body": .text("newer")]), on: writer)
        #expect(try Self.hasChanged(since: lost, on: writer))
        try Self.write(.update("note", new, ["body": .text("lost")]), on: writer)
        #expect(try !Self.hasChanged(since: lost, on: writer))
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

import SyncCore
import SyncModel
import SyncTestKit
import TestRings
import Testing

/// Tests devices and servers of different builds. The newer build has a collection and a field that the older one does
/// not know.
@Suite(.ring(.unit)) struct BuildsTests {
    private static let user = ModelSchema(collection: "users", fields: [.text("username")])
    private static let newerUser = ModelSchema(collection: "users", fields: [.text("username"), .text("motto")])
    private static let task = ModelSchema(
        collection: "tasks", fields: [.text("title"), .reference("owner", to: "users")])
    private static let older = SchemaCatalog([user])
    private static let newer = SchemaCatalog([newerUser, task])

    private func write(_ device: TestbedDevice, _ edit: RecordEdit) throws {
        _ = try device.store.commit([edit], in: .default, now: device.runtime.now())
    }

    private func id(_ device: TestbedDevice) -> RecordID {
        var random = device.runtime.generator
        return .make(at: device.runtime.now(), random: &random)
    }

    @Test func `a newer device sends an older server only the data that it knows, and the rest after the upgrade`()
        throws
    {
        let testbed = SyncTestbed(catalog: Self.older)
        let (phone, tablet) = (try testbed.device("phone", catalog: Self.newer), try testbed.device("tablet"))
        let (ned, chore) = (id(phone), id(phone))
        try write(phone, .create("users", ned, ["username": .text("Ned")]))
        try testbed.settle()
        try write(phone, .create("tasks", chore, ["title": .text("sweep"), "owner": .reference(ned)]))
        try write(phone, .update("users", ned, ["motto": .text("Winter is coming")]))
        let arya = id(phone)
        try write(phone, .create("users", arya, ["username": .text("Arya")]))
        try testbed.advance(by: .seconds(3_600))

        #expect(try tablet.store.record("users", .id(arya))?.values == [.text("Arya")])
        #expect(phone.status?.waitsForNewerServer == true)
        #expect(try phone.store.outbox(limit: 9).map(\.heldFor) == ["tasks", "users.motto"])
        #expect(try phone.store.journal(state: .active, limit: 9).isEmpty)
        // The held record is still visible to the user.
        #expect(try phone.store.record("tasks", .id(chore))?.values.first == .text("sweep"))
        #expect(phone.server.log.count < 600, "\(phone.server.log.count) calls in an hour")

        testbed.replaceServer(catalog: Self.newer)
        try testbed.settle()
        #expect(try phone.store.outboxSummary().count == 0)
        let console = try testbed.device("console", catalog: Self.newer)
        try testbed.settle()
        #expect(try console.store.record("tasks", .id(chore))?.values == [.text("sweep"), .reference(ned)])
        #expect(try console.store.record("users", .id(ned))?.values == [.text("Ned"), .text("Winter is coming")])
        try testbed.finish()
    }

    @Test func `an older device keeps unknown records and fields when it edits other fields`() throws {
        let testbed = SyncTestbed(catalog: Self.newer)
        let (phone, tablet) = (
            try testbed.device("phone", catalog: Self.newer), try testbed.device("tablet", catalog: Self.older)
        )
        let (ned, chore) = (id(phone), id(phone))
        try write(phone, .create("users", ned, ["username": .text("Ned"), "motto": .text("Winter is coming")]))
        try write(phone, .create("tasks", chore, ["title": .text("sweep"), "owner": .reference(ned)]))
        try testbed.settle()
        try write(tablet, .update("users", ned, ["username": .text("Eddard")]))
        try testbed.settle()
        #expect(
            try phone.store.record("users", .id(ned))?.values == [.text("Eddard"), .text("Winter is coming")])
        #expect(try phone.store.record("tasks", .id(chore)) != nil)
        try testbed.finish()
    }

    @Test func `devices wait while the server runs an older build, and nothing is rejected or lost`() throws {
        let testbed = SyncTestbed(catalog: Self.newer)
        let phone = try testbed.device("phone")
        try testbed.settle()
        testbed.replaceServer(catalog: Self.older)
        let chore = id(phone)
        // The device does not know about the older build yet, so it sends the task.
        try write(phone, .create("tasks", chore, ["title": .text("sweep")]))
        try testbed.advance(by: .seconds(3_600))
        #expect(try phone.store.outbox(limit: 9).map(\.heldFor) == ["tasks"])
        #expect(try phone.store.journal(state: .active, limit: 9).isEmpty)
        testbed.replaceServer(catalog: Self.newer)
        try testbed.settle()
        #expect(try phone.store.record("tasks", .id(chore))?.uid != UID.none)
        try testbed.finish()
    }
}

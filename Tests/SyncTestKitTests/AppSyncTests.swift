import SyncTestKit
import Testing
import TomboloCommunity

/// The example of the article "Test your application", without changes.
@Suite struct AppSyncTests {
    @Test func `a name that is changed offline reaches the other device`() throws {
        let testbed = try SyncTestbed(models: CommunityCatalog.models)
        let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
        let ned = try phone.community.users.make(username: "Ned")
        try testbed.run { try await ned.create().confirmed() }

        phone.isOnline = false
        ned.username = "Lord Stark"
        try testbed.run { try await ned.save() }
        try testbed.settle()
        #expect(try testbed.run { try await tablet.community.users.users().map(\.username) } == ["Ned"])

        phone.stop()
        try phone.start()
        phone.isOnline = true
        phone.network.faults = .poor
        try testbed.settle()
        #expect(try testbed.run { try await tablet.community.users.users().map(\.username) } == ["Lord Stark"])
        try testbed.finish()
    }
}

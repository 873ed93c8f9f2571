import Models
import SyncTestKit
import Testing

/// The example of the article "Test your application", without changes.
@Suite struct AppSyncTests {
    @Test func `a name that is changed offline reaches the other device`() throws {
        let lab = SyncLab(catalog: CommunityCatalog.catalog)
        let (phone, tablet) = (try lab.device("phone"), try lab.device("tablet"))
        let ned = phone.community.users.make(username: "Ned")
        try lab.run { try await ned.create().confirmation() }

        phone.isOnline = false
        ned.username = "Lord Stark"
        try lab.run { try await ned.save() }
        try lab.settle()
        #expect(try lab.run { try await tablet.community.users.users().map(\.username) } == ["Ned"])

        phone.stop()
        try phone.start()
        phone.isOnline = true
        phone.network.faults = .poor
        try lab.settle()
        #expect(try lab.run { try await tablet.community.users.users().map(\.username) } == ["Lord Stark"])
        try lab.finish()
    }
}

import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import TestRings
import Testing
import TomboloModeling

/// Tests devices that follow and unfollow spaces while they run.
@Suite(.ring(.unit)) struct FollowTests {
    struct Note: Model {
        static let collection = "note"
        let text = Field<String>("text", .required)
    }

    private func testbed() throws -> SyncTestbed {
        try SyncTestbed(models: [Note.self], spaces: [.default, "team"])
    }

    private func note(_ device: TestbedDevice, _ text: String, in testbed: SyncTestbed) throws -> Live<Note> {
        try testbed.run { try await device.create(Note.self, in: "team") { $0.text = text } }
    }

    private func texts(_ device: TestbedDevice, in testbed: SyncTestbed) throws -> [String] {
        try testbed.run { try await device.query(Note.self).all().map(\.text).sorted() }
    }

    @Test func `a space that is followed while the device runs is downloaded, and stays after a restart`() throws {
        let testbed = try testbed()
        let author = try testbed.device("author")
        let phone = try testbed.device("phone", following: [.default])
        _ = try note(author, "first", in: testbed)
        try testbed.settle()
        #expect(try texts(phone, in: testbed) == [])
        try phone.follow("team")
        try testbed.settle(within: .seconds(5))
        #expect(try texts(phone, in: testbed) == ["first"])
        // Its changes arrive by hints, not with the next poll.
        _ = try note(author, "second", in: testbed)
        try testbed.advance(by: .seconds(2))
        #expect(try texts(phone, in: testbed) == ["first", "second"])
        phone.stop()
        try phone.start()
        #expect(try phone.followedSpaces == [.default, "team"])
        _ = try note(author, "third", in: testbed)
        try testbed.settle()
        #expect(try texts(phone, in: testbed) == ["first", "second", "third"])
        try testbed.finish()
    }

    @Test func `an unfollowed space leaves the device, and its changes do not come back`() throws {
        let testbed = try testbed()
        let author = try testbed.device("author")
        let phone = try testbed.device("phone", following: [.default])
        try phone.follow("team")
        let written = try note(author, "first", in: testbed)
        try testbed.settle()
        let id = try #require(written.id)
        let seen = try phone.object(Note.self, id: id)
        #expect(seen.text == "first")
        try phone.unfollow("team")
        #expect(try texts(phone, in: testbed) == [])
        try testbed.advance(by: .seconds(1))
        #expect(seen.presence == .gone)
        #expect(phone.status?.spaces.map(\.space) == [.default])
        _ = try note(author, "second", in: testbed)
        try testbed.advance(by: .seconds(1_200))
        #expect(try texts(phone, in: testbed) == [])
        #expect(try texts(author, in: testbed) == ["first", "second"])
        phone.stop()
        try phone.start()
        #expect(try phone.followedSpaces == [.default])

        // When the device follows the space again, it downloads the space again.
        try phone.follow("team")
        try testbed.settle()
        #expect(try texts(phone, in: testbed) == ["first", "second"])
        try testbed.finish()
    }

    @Test func `a space is left and followed again while its page is on the way`() throws {
        let testbed = try testbed()
        let author = try testbed.device("author")
        let phone = try testbed.device("phone", following: [.default])
        _ = try note(author, "first", in: testbed)
        try testbed.settle()
        // A request is on its way for ten milliseconds.
        phone.network.faults.delay = .milliseconds(10)...(.milliseconds(10))
        for delay in [0, 1, 5, 9, 11, 200] {
            try phone.follow("team")
            try testbed.advance(by: .milliseconds(delay))
            #expect(try texts(phone, in: testbed) == (delay > 10 ? ["first"] : []), "after \(delay) ms")
            try phone.unfollow("team")
            try testbed.advance(by: .milliseconds(delay))
            #expect(try phone.followedSpaces == [.default])
            #expect(try texts(phone, in: testbed) == [])
        }
        try phone.follow("team")
        try phone.unfollow("team")
        try phone.follow("team")
        try testbed.settle()
        #expect(try texts(phone, in: testbed) == ["first"])
        try testbed.finish()
    }

    @Test func `a space with unsent writes is kept until they are sent`() throws {
        let testbed = try testbed()
        let phone = try testbed.device("phone", following: [.default])
        phone.isOnline = false
        _ = try note(phone, "mine", in: testbed)
        let refused = #expect(throws: ModelError.self) { try phone.unfollow("team") }
        #expect(refused?.code == .unsentWrites)
        #expect(
            refused?.message.contains("1 transaction in the space team is not confirmed by the server") == true,
            "\(refused?.message ?? "")")
        #expect(try texts(phone, in: testbed) == ["mine"])
        phone.isOnline = true
        try testbed.settle()
        try phone.unfollow("team")
        #expect(try texts(phone, in: testbed) == [])
        let other = try testbed.device("other")
        try testbed.settle()
        #expect(try texts(other, in: testbed) == ["mine"])
        #expect(#expect(throws: ModelError.self) { try phone.unfollow(.default) }?.code == .invalidValue)
        try testbed.finish()
    }
}

import SyncCore
import SyncModel
import SyncObjects
import TestRings
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests live objects of the same records on two devices and on the server, with SQLite on both sides, the real engine,
/// and the real authority.
@Suite(.ring(.test)) struct TwoDeviceTests {
    private let server: LiveServer

    init() throws {
        server = try LiveServer()
    }

    @Test(.timeLimit(.minutes(10)))
    func `records that one device creates are visible on the other device and to clients of the server`() async throws {
        let (laptop, kiosk) = (try LiveDevice(server), try LiveDevice(server))
        let user = laptop.community.users.make(username: "Ned Stark")
        let avatar = laptop.community.avatars.make(author: user, imageURL: "https://example.org/ned.png")
        user.avatar = avatar
        let profile = laptop.community.profiles.make(user: user, address: AddressTests.nanjing)
        try await profile.create()
        let uid = try await user.create().confirmed()
        #expect(avatar.isValid)
        #expect(profile.isValid)

        let seen = try kiosk.community.users.user(uid: uid)
        try await seen.arrival()
        #expect(seen.username == "Ned Stark")
        #expect(seen.avatar?.author === seen)
        #expect(seen.avatar?.imageURL == "https://example.org/ned.png")
        let found = try await kiosk.community.profiles.profiles(of: seen).first
        #expect(found?.displayAddress == profile.displayAddress)

        let remote = try server.community.users.user(uid: uid)
        try await remote.load()
        #expect(remote.username == "Ned Stark")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a live object shows changes from another device`() async throws {
        let (laptop, kiosk) = (try LiveDevice(server), try LiveDevice(server))
        let user = laptop.community.users.make(username: "Arya")
        let uid = try await user.create().confirmed()
        let seen = try kiosk.community.users.user(uid: uid)
        try await seen.arrival()
        seen.username = "No One"
        try await seen.save().confirmed()
        for await _ in user.updates where user.username == "No One" { break }
        #expect(user.username == "No One")

        try await user.delete().confirmed()
        for await presence in seen.updates where presence == .gone { break }
        #expect(try await kiosk.community.users.users().isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func `an object returns if the server refuses its deletion`() async throws {
        let laptop = try LiveDevice(server)
        let user = laptop.community.users.make(username: "Ned")
        let avatar = laptop.community.avatars.make(author: user)
        try await avatar.create().confirmed()
        // The deletion goes directly to the server, because the device's local store would refuse it.
        let remote = try server.community.users.user(uid: user.uid)
        try await remote.load()
        let failure = await #expect(throws: ModelError.self) { try await remote.delete() }
        #expect(failure?.code == .rejected)
        #expect(remote.presence == .here)
        #expect(user.presence == .here)
    }
}

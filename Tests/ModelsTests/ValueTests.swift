import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that invalid values are refused when they are written, and that the error names the field and the reason.
@Suite struct ValueTests {
    @Test(arguments: [
        ("", "user.username is empty"),
        (String(repeating: "n", count: 65), "user.username is too long: 65 bytes, at most 64 allowed"),
        (
            "\u{7}\u{1B}\u{200B} ",
            "user.username contains U+0007, which is an invisible or control character: remove it"
        ),
        ("\u{301}", "user.username has no visible characters: expected at least one visible character"),
        ("Ned\u{0}", "user.username contains U+0000, which cannot be stored"),
    ])
    func `an invalid username is refused`(username: String, message: String) async throws {
        let user = Community.mock().users.make(username: username)
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.code == .invalidValue)
        #expect(failure?.message == message)
        #expect(user.presence == .draft)
        user.username = "Ned"
        try await user.create()
        #expect(user.isValid)
    }

    @Test func `a user keeps its name if the new one is refused`() async throws {
        let users = Community.mock().users
        let user = users.make(username: "Ned")
        try await user.create()
        user.username = ""
        await #expect(throws: ModelError.self) { try await user.save() }
        user.username = "Ned"
        #expect(try await user.save().isEmpty, "the old value is not a change")
    }

    @Test func `names with equivalent Unicode forms are equal`() async throws {
        let users = Community.mock().users
        try await users.make(username: "Zo\u{65}\u{308}").create()
        let found = try await users.users(named: "Zo\u{EB}")
        #expect(found.first.map { Array($0.username.unicodeScalars) } == Array("Zo\u{EB}".unicodeScalars))
    }

    @Test(arguments: [
        (
            "ned.png",
            "avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://"
        ),
        ("1:x", "avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://"),
        (
            "javascript:alert(1)",
            "avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://"
        ),
        (
            "data:text/html,x",
            "avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://"
        ),
        ("https://", "avatar.image_url names no host after https://"),
        ("https:///x", "avatar.image_url names no host after https://"),
        ("file://", "avatar.image_url names no file after file://"),
        ("https:", "avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://"),
        (
            "https://example.org/n d.png",
            "avatar.image_url contains a character that is not allowed in a URL: percent-encode spaces, control characters, and characters beyond ASCII"
        ),
        ("", "avatar.image_url is empty"),
    ])
    func `an invalid image URL is refused`(address: String, message: String) async {
        let community = Community.mock()
        let avatar = community.avatars.make(author: community.users.make(username: "Ned"), imageURL: address)
        let failure = await #expect(throws: ModelError.self) { try await avatar.create() }
        #expect(failure?.message == message)
    }

    @Test func `an avatar can be reset to the standard picture`() async throws {
        let community = Community.mock()
        let avatar = community.avatars.make(
            author: community.users.make(username: "Ned"), imageURL: "https://example.org/ned.png")
        try await avatar.create()
        avatar.imageURL = ImageURL.standard
        try await avatar.save()
        #expect(avatar.imageURL == ImageURL.standard)
        #expect(try await community.avatars.avatars().first?.imageURL == ImageURL.standard)
    }

    @Test func `a reference to a missing record or to another composition is refused`()
        async throws
    {
        let community = Community.mock()
        let user = community.users.make(username: "Ned")
        user.avatar = try community.avatars.avatar(uid: 9)
        let notHere = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(
            notHere?.message
                == "user.avatar cannot refer to avatar with uid 9: it is not on this device, so its id is unknown")

        let other = Community.mock()
        user.avatar = other.avatars.make(author: other.users.make(username: "Arya"))
        let foreign = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(
            foreign?.message == "user.avatar cannot refer to avatar of Arya: it belongs to another client")

        user.avatar = nil
        try await user.create()
    }

    @Test func `creating an existing record is refused`() async throws {
        let store = InMemoryStore()
        let community = Community.synced(store: store, runtime: .mock())
        store.arrive("user", IdentityTests.record(uid: 3, username: "Arya"))
        let user = try community.users.user(uid: 3)
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.code == .alreadyExists)
    }

    @Test func `a store failure is reported, and the draft stays a draft`() async throws {
        let store = InMemoryStore()
        let user = Community.cached(store: store, runtime: .mock()).users.make(username: "Ned")
        store.fail(with: StoreError(.diskFull, "the disk is full"))
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.code == .store)
        #expect(failure?.cause == .store(StoreError(.diskFull, "the disk is full")))
        #expect(user.presence == .draft)
        store.fail(with: nil)
        try await user.create()
        #expect(user.presence == .here)
    }

    @Test func `the catalog of the community has the collections of its three models`() {
        #expect(Set(CommunityCatalog.catalog.models.map(\.collection)) == ["user", "avatar", "profile"])
    }
}

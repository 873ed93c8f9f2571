import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests the business rules of users and avatars with every kind of the model.
@Suite struct OriginTests {
    @Test(arguments: CommunityComposition.allCases)
    func `a new user is created`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let user = world.users.make(username: "Ned Stark")
        #expect(user.uid == -1)
        #expect(!user.isValid)
        #expect(user.presence == .draft)

        try await world.confirm(try await user.create())
        #expect(user.isValid == world.hasServer)
        #expect(user.presence == .here)
        #expect(user.username == "Ned Stark")
        #expect("\(user)" == "Ned Stark")
        #expect(user.avatar == nil)
    }

    @Test(arguments: CommunityComposition.allCases)
    func `an avatar that is created before its user has that user as its author`(kind: CommunityComposition)
        async throws
    {
        let world = try kind.world()
        let user = world.users.make(username: "Ned Stark")
        let avatar = world.avatars.make(author: user)
        try await world.confirm(try await avatar.create())
        try await world.confirm(try await user.create())
        #expect(user.isValid == world.hasServer)
        #expect(avatar.isValid == world.hasServer)
        #expect(avatar.author === user)
        #expect(avatar.imageURL == ImageURL.standard)

        user.avatar = avatar
        let receipt = try await user.save()
        try await world.confirm(receipt)
        #expect(user.avatar === avatar)
        #expect(user.avatar?.author === user)
    }

    @Test(arguments: CommunityComposition.allCases)
    func `a user and an avatar that refer to each other are created in one transaction`(kind: CommunityComposition)
        async throws
    {
        let world = try kind.world()
        let user = world.users.make(username: "Ned Stark")
        let avatar = world.avatars.make(author: user, imageURL: "https://example.org/ned.png")
        user.avatar = avatar
        let first = try await user.create()
        let second = try await avatar.create()
        #expect(first.sequence == second.sequence)
        try await world.confirm(first)
        #expect(user.isValid == world.hasServer)
        #expect(avatar.isValid == world.hasServer)
        #expect(user.avatar?.author === user)
        #expect(try await user.save().isEmpty, "nothing was left to write")
    }

    @Test(arguments: CommunityComposition.allCases.filter(\.hasServer))
    func `a user is queried by uid`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let uid = try await Self.populate(world).user

        let user = try world.users.user(uid: uid)
        try await user.load()
        #expect(user.isValid)
        #expect(user.uid == uid)
        #expect(user.username == "Ned Stark")
        let avatar = try #require(user.avatar)
        try await avatar.load()
        #expect(avatar.author === user)
        #expect(try world.users.user(uid: uid) === user)
    }

    @Test(arguments: CommunityComposition.allCases.filter(\.hasServer))
    func `an avatar is queried by uid`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let uid = try await Self.populate(world).avatar

        let avatar = try world.avatars.avatar(uid: uid)
        try await avatar.load()
        #expect(avatar.isValid)
        #expect(avatar.imageURL == "https://example.org/ned.png")
        let author = try #require(avatar.author)
        try await author.load()
        #expect(author.isValid)
        #expect(author.username == "Ned Stark")
    }

    @Test(arguments: CommunityComposition.allCases)
    func `an unknown uid returns a placeholder that reports a missing record`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let user = try world.users.user(uid: 42)
        let failure = await #expect(throws: ModelError.self) { try await user.load() }
        #expect(failure?.code == .notHere)
        #expect(failure?.message == "user with uid 42 is not here")
        #expect(user.presence == .notHere)
        #expect(!user.isValid)
        #expect(user.username == "")
        #expect(user.id == nil)
        #expect(try world.users.user(uid: 42) === user)
        await #expect(throws: ModelError.self) { try await user.create() }
    }

    @Test(arguments: CommunityComposition.allCases)
    func `a negative uid is refused with an explanation`(kind: CommunityComposition) throws {
        let failure = #expect(throws: ModelError.self) { try kind.world().users.user(uid: -1) }
        #expect(failure?.message == "-1 is not a valid uid of a user: uids are 0 or more")
    }

    @Test(arguments: CommunityComposition.allCases)
    func `users can be listed and found by name`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        for name in ["Ned", "Arya", "Ned"] {
            try await world.confirm(try await world.users.make(username: name).create())
        }
        let all = try await world.users.users()
        #expect(all.map(\.username).sorted() == ["Arya", "Ned", "Ned"])
        let neds = try await world.users.users(named: "Ned")
        #expect(neds.count == 2)
        #expect(neds.allSatisfy { ned in all.contains { $0 === ned } })
        #expect(try await world.users.users(limit: 1, offset: 1).first === all[1])
    }

    @Test(arguments: CommunityComposition.allCases)
    func `save writes a changed property, and a deleted object is gone`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let user = world.users.make(username: "Ned")
        try await world.confirm(try await user.create())
        user.username = "Eddard"
        #expect(user.username == "Eddard")
        try await world.confirm(try await user.save())
        #expect(try await world.users.users(named: "Eddard").first === user)
        #expect(try await world.users.users(named: "Ned").isEmpty)
        #expect(try await user.save().isEmpty)

        try await user.delete()
        #expect(user.presence == .gone)
        #expect(try await world.users.users().isEmpty)
        let failure = await #expect(throws: ModelError.self) { try await user.load() }
        #expect(failure?.code == .gone)
    }

    @Test(arguments: CommunityComposition.allCases)
    func `the completion of create receives the uid`(kind: CommunityComposition) async throws {
        let world = try kind.world()
        let user = world.users.make(username: "Ned")
        let (written, isWritten) = AsyncStream.makeStream(of: Void.self)
        let result = await withCheckedContinuation { continuation in
            user.create(
                written: {
                    isWritten.yield()
                    isWritten.finish()
                    world.server()
                }, completion: { continuation.resume(returning: $0) })
        }
        for await _ in written { break }
        if world.hasServer {
            #expect(try result.get() == user.uid)
            #expect(user.isValid)
        } else {
            #expect(throws: ModelError.self) { try result.get() }
            #expect(user.presence == .here)
        }
    }

    @Test func `a mock failure ends create with the given error and leaves a draft`() async throws {
        let wanted = ModelError(.rejected, "no room for Starks")
        let users = Community.mock(failingWith: wanted).users
        let user = users.make(username: "Ned")
        let thrown = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(thrown == wanted)
        let result = await withCheckedContinuation { continuation in
            user.create { continuation.resume(returning: $0) }
        }
        #expect(result == .failure(wanted))
        #expect(user.presence == .draft)
        #expect(!user.isValid)
    }

    /// Creates a user and an avatar that refer to each other, and returns their uids without keeping the objects.
    private static func populate(_ world: World) async throws -> (user: Int, avatar: Int) {
        let user = world.users.make(username: "Ned Stark")
        let avatar = world.avatars.make(author: user, imageURL: "https://example.org/ned.png")
        user.avatar = avatar
        try await world.confirm(try await user.create())
        return (user.uid, avatar.uid)
    }
}

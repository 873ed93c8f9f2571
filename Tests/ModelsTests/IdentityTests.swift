import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests that each record has one live object, and that reference cycles between records do not leak memory.
@Suite struct IdentityTests {
    private let store = InMemoryStore()
    private var community: Community { .synced(store: store, runtime: .mock()) }

    @Test func `a record has the same object by uid, by id, by reference, and by query`() async throws {
        let community = community
        let user = community.users.make(username: "Ned")
        let avatar = community.avatars.make(author: user)
        user.avatar = avatar
        let receipt = try await user.create()
        store.confirmAll()
        let uid = try await receipt.confirmed()
        #expect(try community.users.user(uid: uid) === user)
        #expect(try community.users.user(id: receipt.records[0]) === user)
        #expect(try await community.users.users().first === user)
        #expect(try await community.avatars.avatars(by: user).first === avatar)
        #expect(avatar.author === user)
    }

    @Test func `a cycle of unreferenced drafts is deallocated`() {
        weak var weakUser: (any User)?
        weak var weakAvatar: (any Avatar)?
        func drop() {
            let community = community
            let user = community.users.make(username: "Ned")
            let avatar = community.avatars.make(author: user)
            user.avatar = avatar
            weakUser = user
            weakAvatar = avatar
            #expect(weakUser?.avatar === weakAvatar)
        }
        drop()
        #expect(weakUser == nil)
        #expect(weakAvatar == nil)
    }

    @Test func `a cycle of unreferenced objects is deallocated and can be loaded again`()
        async throws
    {
        let community = community
        weak var weakUser: (any User)?
        func create() async throws -> RecordID {
            let user = community.users.make(username: "Ned")
            let avatar = community.avatars.make(author: user)
            user.avatar = avatar
            weakUser = user
            return try await user.create().records[0]
        }
        let id = try await create()
        #expect(weakUser == nil)
        let again = try community.users.user(id: id)
        #expect(again.username == "Ned")
        #expect(again.avatar?.author === again)
    }

    @Test func `a draft is kept alive by drafts that refer to it, even after two groups are joined`() async throws {
        let community = community
        var user: (any User)? = community.users.make(username: "Ned")
        let avatar = community.avatars.make(author: try #require(user))
        let profile = community.profiles.make(
            user: try #require(user), address: SingaporeAddress(street: "1 Raffles Place", postalCode: "048616"))
        user?.avatar = avatar
        user = nil
        #expect(avatar.author?.username == "Ned")
        #expect(profile.user?.avatar === avatar)
        #expect(profile.user === avatar.author)
        try await profile.create()
        #expect(store.outbox(limit: 10).map { $0.transaction.mutations.count } == [3])
        #expect(avatar.presence == .here)
    }

    @Test func `a record keeps a draft to which it refers alive while its object is in use`() throws {
        let community = community
        store.arrive("user", Self.record(uid: 7, username: "Arya"))
        func refer() throws -> RecordID {
            let user = try community.users.user(uid: 7)
            user.avatar = community.avatars.make(author: user)
            #expect(user.avatar?.presence == .draft)
            #expect(user.avatar?.author === user)
            return try #require(user.avatar?.id)
        }
        let avatar = try refer()
        #expect(try community.avatars.avatar(id: avatar).presence == .notHere)
    }

    @Test func `a draft of a profile keeps the drafts of its user and of the user's avatar alive`() throws {
        let community = community
        func make() -> any Profile {
            let user = community.users.make(username: "Ned")
            user.avatar = community.avatars.make(author: user, imageURL: "https://example.org/ned.png")
            return community.profiles.make(user: user, address: nil)
        }
        let profile = make()
        #expect(profile.user?.avatar?.imageURL == "https://example.org/ned.png")
        #expect(profile.user?.avatar?.author?.username == "Ned")
    }

    @Test func `a placeholder is filled when its record arrives and becomes the object of the record`() async throws {
        let community = community
        let user = try community.users.user(uid: 7)
        #expect(user.presence == .notHere)
        async let arrival: Void = user.arrival()
        let record = Self.record(uid: 7, username: "Arya")
        store.arrive("user", record)
        try await arrival
        #expect(user.username == "Arya")
        #expect(user.uid == 7)
        #expect(user.id == record.id)
        #expect(try community.users.user(id: record.id) === user)
        #expect(try community.users.user(uid: 7) === user)
    }

    /// Returns a placeholder that was asked for by uid, and the object of the same record by id, after it has arrived.
    private func twoObjectsOfOneRecord(
        in community: Community
    ) async throws -> (placeholder: any User, user: any User) {
        let placeholder = try community.users.user(uid: 7)
        let record = Self.record(uid: .none, username: "Arya")
        store.arrive("user", record)
        let user = try community.users.user(id: record.id)
        var known = record
        known.uid = UID(7)
        store.arrive("user", known)
        try await placeholder.arrival()
        return (placeholder, user)
    }

    @Test func `a placeholder shares its state with an object of the same record loaded by id`() async throws {
        let community = community
        let (placeholder, user) = try await twoObjectsOfOneRecord(in: community)
        #expect(placeholder.username == "Arya")
        user.username = "No One"
        #expect(placeholder.username == "No One")
        #expect(placeholder.id == user.id)
        #expect(try community.users.user(uid: 7) === user)
    }

    /// Regression test: the edits stayed in the object that shows the record, and its next save wrote them again, over
    /// the values of others.
    @Test func `a placeholder that shares the state of another object writes that object's edits`() async throws {
        let community = community
        let (placeholder, user) = try await twoObjectsOfOneRecord(in: community)
        placeholder.username = "No One"
        #expect(try await !placeholder.save().isEmpty)
        #expect(user.username == "No One")
        #expect(try await placeholder.save().isEmpty)
        #expect(try await user.save().isEmpty)
        try await placeholder.delete()
        #expect(placeholder.presence == .gone && user.presence == .gone)
    }

    @Test func `concurrent requests for one record return the same object`() async throws {
        let community = community
        let record = Self.record(uid: 3, username: "Arya")
        store.arrive("user", record)
        for _ in 0..<20 {
            let identities = try await withThrowingTaskGroup(of: (any User).self) { group in
                for index in 0..<8 {
                    group.addTask {
                        index.isMultiple(of: 2)
                            ? try community.users.user(uid: 3) : try community.users.user(id: record.id)
                    }
                }
                return try await group.reduce(into: [any User]()) { $0.append($1) }
            }
            #expect(Set(identities.map { ObjectIdentifier($0) }).count == 1)
        }
    }

    @Test func `concurrent creations of one draft create it once`() async throws {
        let user = community.users.make(username: "Ned")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { try await user.create() } }
            try await group.waitForAll()
        }
        #expect(store.outbox(limit: 10).count == 1)
    }

    @Test func `a property is read without querying the store`() async throws {
        let user = community.users.make(username: "Ned")
        try await user.create()
        let reads = store.reads
        for _ in 0..<1_000 { #expect(user.username == "Ned") }
        // The watcher may read the created record once, at any time.
        #expect(store.reads <= reads + 1)
    }

    @Test(.timeLimit(.minutes(5)))
    func `the watcher of the store ends when the last object is deallocated`() async throws {
        var community: Community? = community
        var user: (any User)? = community?.users.make(username: "Ned")
        community = nil
        #expect(store.changes.subscriberCount == 1)
        _ = user?.uid
        user = nil
        // The subscription ends after its cancelled task has run.
        while store.changes.subscriberCount > 0 { await Task.yield() }
    }

    static func record(uid: UID, username: String) -> Record {
        var random = EngineRuntime.mock().generator
        let id = RecordID.make(at: WallTime(milliseconds: 5), random: &random)
        return Record(id: id, uid: uid, version: Version(1), values: [.text(username), .null])
    }

    static func record(uid: Int64, username: String) -> Record {
        record(uid: UID(uid), username: username)
    }
}

import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests live objects over a store that the engine and other processes change, too.
@Suite struct SyncedTests {
    private let store = InMemoryStore()
    private let community: Community

    init() {
        community = .synced(store: store, runtime: .mock())
    }

    @Test func `a created object is durable at once and confirmed when the server has it`() async throws {
        let user = community.users.make(username: "Ned")
        #expect(try !user.isPending())
        let receipt = try await user.create()
        #expect(receipt.sequence != nil)
        #expect("\(receipt)" == "transaction 1 with 1 record")
        #expect(user.presence == .here)
        #expect(!user.isValid)
        #expect(try user.isPending())
        async let uid = receipt.confirmed()
        store.confirmAll()
        #expect(try await uid == user.uid)
        #expect(user.isValid)
        #expect(try !user.isPending())
    }

    @Test func `a rejected creation reports the server's reason, and the gone object keeps its values`()
        async throws
    {
        let user = community.users.make(username: "Ned")
        let receipt = try await user.create()
        store.rejectAll(Rejection(code: .forbidden, message: "no Starks here", mutation: 0))
        let failure = await #expect(throws: ModelError.self) { try await receipt.confirmed() }
        #expect(failure?.code == .rejected)
        #expect(failure?.message == "the server rejected the transaction (forbidden): no Starks here")
        for await presence in user.updates where presence == .gone { break }
        #expect(user.username == "Ned")
        let again = await #expect(throws: ModelError.self) { try await user.save() }
        #expect(again == nil || again?.code == .gone)
    }

    @Test func `the confirmation of a cancelled creation reports the cancellation`() async throws {
        let receipt = try await community.users.make(username: "Ned").create()
        try store.cancel(try #require(receipt.sequence), now: WallTime(milliseconds: 0))
        let failure = await #expect(throws: ModelError.self) { try await receipt.confirmed() }
        #expect(failure?.code == .takenBack)
    }

    @Test func `cancelling a wait for confirmation does not cancel the write`() async throws {
        let user = community.users.make(username: "Ned")
        let receipt = try await user.create()
        let wait = EngineRuntime.mock().spawn {
            let failure = await #expect(throws: ModelError.self) { try await receipt.confirmed() }
            #expect(failure?.code == .interrupted)
        }
        wait.cancel()
        await wait.value
        #expect(try user.isPending())
    }

    @Test func `without a server, waiting for confirmation fails`() async throws {
        let receipt = try await Community.cached(store: store, runtime: .mock()).users.make(username: "Ned").create()
        let failure = await #expect(throws: ModelError.self) { try await receipt.confirmed() }
        #expect(failure?.code == .noServer)
    }

    @Test func `an object shows pulled values, except for fields with unsaved changes`() async throws {
        let record = IdentityTests.record(uid: 3, username: "Arya")
        store.arrive("user", record)
        let user = try community.users.user(uid: 3)
        user.username = "No One"
        var news = user.updates.makeAsyncIterator()
        _ = await news.next()
        var changed = record
        changed.version = Version(2)
        changed.values[0] = .text("Arry")
        store.arrive("user", changed)
        #expect(await news.next() == .here)
        #expect(user.username == "No One")
        user.username = "Arry"
        #expect(try await user.save().isEmpty, "a value that the server already has is not a change")
    }

    @Test func `the updates of an object deliver each change and end when it is gone`() async throws {
        let record = IdentityTests.record(uid: 3, username: "Arya")
        store.arrive("user", record)
        let user = try community.users.user(uid: 3)
        var seen: [String] = []
        var step = 0
        for await presence in user.updates {
            seen.append("\(presence) \(user.username)")
            step += 1
            switch step {
            case 1:
                var changed = record
                changed.values[0] = .text("Arry")
                store.arrive("user", changed)
            default: store.vanish("user", record.id)
            }
        }
        #expect(seen == ["here Arya", "here Arry", "gone Arry"])
    }

    @Test func `a deleted object returns if the server refuses the deletion`() async throws {
        let record = IdentityTests.record(uid: 3, username: "Arya")
        store.arrive("user", record)
        let user = try community.users.user(uid: 3)
        try await user.delete()
        #expect(user.presence == .gone)
        store.arrive("user", record)
        #expect(try await community.users.users().first === user)
        #expect(user.presence == .here)
        user.username = "No One"
        #expect(try await !user.save().isEmpty)
    }

    @Test func `a reference to a deleted object is nil`() async throws {
        let user = community.users.make(username: "Ned")
        let avatar = community.avatars.make(author: user)
        user.avatar = avatar
        try await user.create()
        try await avatar.delete()
        #expect(user.avatar == nil)
        #expect(avatar.author === user, "what is gone shows what it was")
    }

    @Test func `the updates of a query deliver the list after each change`() async throws {
        var lists = community.users.updates.makeAsyncIterator()
        #expect(try await lists.next()?.isEmpty == true)
        let user = community.users.make(username: "Ned")
        try await user.create()
        #expect(try await lists.next()?.first === user)
        store.arrive("user", IdentityTests.record(uid: 3, username: "Arya"))
        var names: [String] = []
        while names.count < 2, let list = try await lists.next() { names = list.map(\.username).sorted() }
        #expect(names == ["Arya", "Ned"])
    }

    @Test func `a reference to a record that has not arrived is a placeholder that is filled later`() async throws {
        let author = IdentityTests.record(uid: 3, username: "Arya")
        let picture = Record(
            id: RecordID(bits: Identifier128(high: 1, low: 1)), uid: UID(8), version: Version(1),
            values: [.null, .reference(author.id)])
        store.arrive("avatar", picture)
        let avatar = try community.avatars.avatar(uid: 8)
        let user = try #require(avatar.author)
        #expect(user.presence == .notHere)
        store.arrive("user", author)
        try await user.arrival()
        #expect(user.username == "Arya")
        #expect(avatar.author === user)
    }

    @Test func `a record with more or fewer fields than the schema shows the fields that it has`() throws {
        var short = IdentityTests.record(uid: 3, username: "Arya")
        short.values = []
        store.arrive("user", short)
        #expect(try community.users.user(uid: 3).username == "")
        var long = IdentityTests.record(uid: 4, username: "Sansa")
        long.values += [.integer(9)]
        store.vanish("user", short.id)
        store.arrive("user", long)
        #expect(try community.users.user(uid: 4).username == "Sansa")
    }

    @Test func `objects that are saved together are written in one transaction`() async throws {
        let user = community.users.make(username: "Ned")
        try await user.create()
        let avatar = community.avatars.make(author: user)
        user.avatar = avatar
        user.username = "Eddard"
        try await user.save()
        let last = try #require(store.outbox(limit: 10).last)
        #expect(last.transaction.mutations.map(\.collection).sorted() == ["avatar", "user"])
        #expect(avatar.presence == .here)
    }
}

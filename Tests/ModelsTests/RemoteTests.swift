import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Tests live objects that are read from a server and written to it directly, without a local store.
@Suite struct RemoteTests {
    private let server = InMemoryServer()
    private let community: Community

    init() {
        community = .remote(transport: server, runtime: .mock(), hash: CommunityComposition.hash)
    }

    @Test func `a push whose response is lost is sent again with its number and applied once`() async throws {
        let user = community.users.make(username: "Ned")
        server.loseNextResponse()
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.code == .transport)
        #expect(user.presence == .draft)
        #expect(server.recordCount == 1)
        try await user.create()
        #expect(user.isValid)
        #expect(server.recordCount == 1)
        #expect(server.pushes.map { $0.transactions.map(\.number.rawValue) } == [[0], [0]])
        #expect(server.pushes[0].transactions == server.pushes[1].transactions)
    }

    @Test func `a draft that was edited after a lost response is created once and then updated`() async throws {
        let user = community.users.make(username: "Ned")
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await user.create() }
        user.username = "Eddard"
        try await user.create()
        #expect(user.isValid)
        #expect(server.recordCount == 1)
        #expect(server.pushes.map { $0.transactions.map(\.number.rawValue) } == [[0], [0], [1]])
        #expect(try await community.users.users(named: "Eddard").count == 1)
    }

    @Test func `a lost creation that another write settled is not repeated, even if that write failed`() async throws {
        let ned = community.users.make(username: "Ned")
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await ned.create() }
        let arya = community.users.make(username: "Arya")
        try await arya.create()
        ned.username = "Eddard"
        try await ned.create()
        #expect(ned.presence == .here && ned.isValid)

        let bran = community.users.make(username: "Bran")
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await bran.create() }
        let sansa = community.users.make(username: "Sansa")
        // The client first repeats the creation of Bran, which the server has applied. The rejection is for Sansa.
        server.rejectNext(Rejection(code: .forbidden, message: "not you", mutation: nil))
        let failure = await #expect(throws: ModelError.self) { try await sansa.create() }
        #expect(failure?.code == .rejected)
        try await bran.create()
        #expect(server.recordCount == 3)
        #expect(try await community.users.users().map(\.username).sorted() == ["Arya", "Bran", "Eddard"])
    }

    // MARK: Without the community's providers

    private func objects() throws -> LiveObjects {
        let source = RemoteSource(
            transport: server, catalog: CommunityCatalog.catalog, runtime: .mock(), hash: CommunityComposition.hash)
        return LiveObjects(source: source, models: try ModelCatalog(CommunityCatalog.models), runtime: .mock())
    }

    @Test func `a field that was cleared after a lost response does not come back`() async throws {
        let objects = try objects()
        let user = try objects.draft(UserModel.self) { $0[$0.fields.username] = "Ned" }
        try await user.create()
        let profile = try objects.draft(ProfileModel.self) { draft in
            draft[draft.fields.user] = user
            draft[draft.fields.fullName] = "Eddard Stark"
        }
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await profile.create() }
        profile[profile.fields.fullName] = nil
        try await profile.create()
        #expect(profile[profile.fields.fullName] == nil)
        try await profile.load()
        #expect(profile[profile.fields.fullName] == nil && server.recordCount == 2)
    }

    @Test func `a delete after an own write does not claim to have seen what others have written since the last read`()
        async throws
    {
        let objects = try objects()
        let user = try await objects.create(UserModel.self) { $0[$0.fields.username] = "Ned" }
        let read = server.version
        _ = try await objects.create(UserModel.self) { $0[$0.fields.username] = "Arya" }
        user[user.fields.username] = "Eddard"
        try await user.save()
        try await user.delete()
        let mutations = try #require(server.pushes.last).transactions.flatMap(\.transaction.mutations)
        #expect(mutations.map(\.intent) == [.delete(seen: read)])
    }

    @Test func `a write that is sent again in a new history has seen nothing of it`() async throws {
        let objects = try objects()
        let user = try await objects.create(UserModel.self) { $0[$0.fields.username] = "Ned" }
        server.refuseNext(.epochChanged(Epoch(rawValue: "restored")))
        user[user.fields.username] = "Eddard"
        try await user.save()
        let mutations = try #require(server.pushes.last).transactions.flatMap(\.transaction.mutations)
        #expect(
            mutations.map(\.intent) == [
                .update([
                    FieldEdit(field: "username", value: .text("Eddard"), before: .text("Ned"), seen: .zero)
                ])
            ])
    }

    /// Until the response, the receipt looks up an object whose record it cannot know, and that is no result.
    @Test func `the confirmation of a write does not cancel the loading of its object`() async throws {
        let objects = try objects()
        var second: RecordID?
        let receipt = try await objects.write { transaction in
            transaction.create(UserModel.self) { $0[$0.fields.username] = "first" }
            second = transaction.create(UserModel.self) { $0[$0.fields.username] = "second" }?.id
        }
        let again = try objects.object(UserModel.self, id: try #require(second))
        server.delayFetches { await #expect(throws: Never.self) { try await receipt.confirmed() } }
        try await again.load()
        #expect(again.presence == .here && again[again.fields.username] == "second")
    }

    @Test func `a record that a query finds wakes those who wait for its object`() async throws {
        let objects = try objects()
        let id = RecordID(bits: Identifier128(high: 7, low: 7))
        let awaited = try objects.object(UserModel.self, id: id)
        try? await awaited.load()
        #expect(awaited.presence == .notHere)
        let arrival = Task { try await awaited.arrival() }
        server.put("user", Record(id: id, uid: UID(7), version: Version(1), values: [.text("Ned"), .null]))
        #expect(try await objects.query(UserModel.self).all().first === awaited)
        try await arrival.value
        #expect(awaited.presence == .here)
    }

    @Test func `an edit of a placeholder whose record is found while its write waits is written to the record`()
        async throws
    {
        let objects = try objects()
        let placeholder = try objects.object(UserModel.self, uid: 7)
        try? await placeholder.load()
        let id = RecordID(bits: Identifier128(high: 7, low: 7))
        server.put("user", Record(id: id, uid: UID(7), version: Version(1), values: [.text("Ned"), .null]))
        let found = try #require(try await objects.query(UserModel.self).all().first)
        placeholder[placeholder.fields.username] = "Eddard"
        let other = try objects.draft(UserModel.self) { $0[$0.fields.username] = "Arya" }
        // The write of the placeholder waits for that of the other user. Meanwhile, its record becomes known.
        server.delayPushes {
            await #expect(throws: Never.self) { try await placeholder.load() }
        }
        async let created = other.create()
        async let saved = placeholder.save()
        _ = try await created
        server.delayPushes(by: nil)
        _ = try await saved
        #expect(found.edits.isEmpty && placeholder.edits.isEmpty)
        #expect(found[found.fields.username] == "Eddard")
    }

    @Test func `an object is deleted once, however often a transaction deletes it`() async throws {
        let objects = try objects()
        let user = try objects.draft(UserModel.self) { $0[$0.fields.username] = "Ned" }
        try await user.create()
        try await objects.write { transaction in
            transaction.delete(user)
            transaction.delete(user)
        }
        #expect(user.presence == .gone && server.recordCount == 0)
    }

    private static let tooLarge = TransportError(.tooLarge, "the push is too large", isDefinite: true)

    @Test func `a write that was applied is known although the server refuses its contents afterwards`() async throws {
        let user = community.users.make(username: "Ned")
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await user.create() }
        server.refuseContents(because: Self.tooLarge)
        try await user.create()
        #expect(user.isValid)
        #expect(server.recordCount == 1)
        server.refuseContents(because: nil)
        user.username = "Eddard"
        try await user.save()
        #expect(server.recordCount == 1)
        #expect(try await community.users.users(named: "Eddard").count == 1)
    }

    @Test func `a write that never arrived is given up when the server refuses its contents`() async throws {
        let user = community.users.make(username: "Ned")
        server.goDown()
        await #expect(throws: ModelError.self) { try await user.create() }
        server.comeBack()
        server.refuseContents(because: Self.tooLarge)
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.message == Self.tooLarge.message)
        #expect(user.presence == .draft)
        #expect(server.recordCount == 0)
        server.refuseContents(because: nil)
        let other = community.users.make(username: "Arya")
        try await other.create()
        #expect(try await community.users.users().map(\.username) == ["Arya"])
    }

    @Test func `a write that was applied before the server changed its history is not applied again`() async throws {
        let user = community.users.make(username: "Ned")
        try await user.create()
        user.username = "Eddard"
        server.loseNextResponse()
        await #expect(throws: ModelError.self) { try await user.save() }
        let version = server.version
        server.refuseNext(.epochChanged(Epoch(rawValue: "new")))
        try await user.save()
        #expect(server.version == version)
        #expect(server.pushes.last?.transactions.map(\.formerNumbers.count) == [1])
    }

    @Test func `a write that cannot be encoded does not block later writes`() async throws {
        struct Unsendable: Error {}
        let community = Community.remote(transport: server, runtime: .mock()) { transaction in
            guard transaction.mutations[0].patch["username"] != .text("Bran") else { throw Unsendable() }
            return CommunityComposition.hash(transaction)
        }
        let failure = await #expect(throws: ModelError.self) {
            try await community.users.make(username: "Bran").create()
        }
        #expect(failure?.code == .invalidValue)
        let user = community.users.make(username: "Ned")
        try await user.create()
        #expect(user.isValid)
    }

    @Test func `a creation in another space than that of the source is refused`() async throws {
        let source = RemoteSource(
            transport: server, catalog: CommunityCatalog.catalog, runtime: .mock(), hash: CommunityComposition.hash)
        let objects = LiveObjects(source: source, models: CommunityCatalog.registered, runtime: .mock())
        let failure = await #expect(throws: ModelError.self) {
            try await objects.create(UserModel.self, in: "team") { $0.username = "Ned" }
        }
        #expect(failure?.code == .invalidValue)
        #expect(
            failure?.message
                == "a record cannot be created in the space team: this client has no store, and writes only to default")
        #expect(server.pushes.isEmpty)
        try await objects.create(UserModel.self, in: .default) { $0.username = "Ned" }
        #expect(server.recordCount == 1)
    }

    @Test func `a query of a server whose pages never end fails after the allowed number of pages`() async throws {
        server.neverEndPulls()
        let failure = await #expect(throws: ModelError.self) { try await community.users.users() }
        #expect(failure?.message == "the server sent more pages than allowed for one snapshot")
        #expect(server.pulls == 1_000)
    }

    @Test func `a rejected creation leaves a draft that can be fixed`() async throws {
        let user = community.users.make(username: "Ned")
        server.rejectNext(Rejection(code: .forbidden, message: "not you", mutation: nil))
        let failure = await #expect(throws: ModelError.self) { try await user.create() }
        #expect(failure?.code == .rejected)
        #expect(user.presence == .draft)
        try await user.create()
        #expect(user.isValid)
    }

    @Test(arguments: [
        PushRefusal.gap(expected: TransactionNumber(4)), .identityConflict(number: .first),
        .epochChanged(Epoch(rawValue: "new")),
    ])
    func `a refused push is sent again under a new incarnation`(refusal: PushRefusal) async throws {
        server.refuseNext(refusal)
        let user = community.users.make(username: "Ned")
        try await user.create()
        #expect(user.isValid)
        #expect(server.pushes.map(\.identity.incarnation) == [0, 1])
    }

    @Test func `a placeholder is filled when the server responds`() async throws {
        server.put("user", IdentityTests.record(uid: 3, username: "Arya"))
        let user = try community.users.user(uid: 3)
        try await user.arrival()
        #expect(user.username == "Arya")
        #expect(try community.users.user(uid: 3) === user)
    }

    @Test func `an unreachable server is reported`() async throws {
        server.goDown()
        let user = try community.users.user(uid: 3)
        let failure = await #expect(throws: ModelError.self) { try await user.load() }
        #expect(failure?.code == .transport)
        #expect(failure?.message == "the server is down")
        #expect(user.presence == .awaited)
    }

    @Test func `a slow response does not overwrite a newer write`() async throws {
        let user = community.users.make(username: "Ned")
        try await user.create()
        server.delayPulls {
            user.username = "Eddard"
            await #expect(throws: Never.self) { try await user.save() }
        }
        let list = try await community.users.users()
        #expect(list.first === user)
        #expect(user.username == "Eddard")
    }

    @Test func `concurrent pushes are sent one at a time without gaps in their numbers`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                let user = community.users.make(username: "user \(index)")
                group.addTask { try await user.create() }
            }
            try await group.waitForAll()
        }
        #expect(server.pushes.flatMap { $0.transactions.map(\.number.rawValue) } == Array(0..<20))
    }

    @Test func `an update contains the version that its author had seen`() async throws {
        let user = community.users.make(username: "Ned")
        try await user.create()
        user.username = "Eddard"
        try await user.save()
        let mutation = try #require(server.pushes.last?.transactions.first?.transaction.mutations.first)
        guard case .update(let edits) = mutation.intent else {
            Issue.record("no update but \(mutation)")
            return
        }
        #expect(edits.map(\.before) == [.text("Ned")])
        #expect(edits.map(\.seen) == [Version(1)])
    }
}

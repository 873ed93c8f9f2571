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

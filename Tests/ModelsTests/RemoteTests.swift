import SyncCore
import SyncModel
import SyncObjects
import SyncTestKit
import Testing
import TomboloCommunity
import TomboloModeling

/// Objects straight from a server, without a store.
@Suite struct RemoteTests {
    private let server = TinyServer()
    private let community: Community

    init() {
        community = .remote(transport: server, runtime: .mock(), hash: Kind.hash)
    }

    @Test func `a push whose answer is lost is sent again under its number, and done once`() async throws {
        let user = community.users.make(username: "Ned")
        server.loseNextAnswer()
        let failure = await #expect(throws: ModelFailure.self) { try await user.create() }
        #expect(failure?.code == .transport)
        #expect(user.presence == .draft)
        #expect(server.recordCount == 1)
        try await user.create()
        #expect(user.isValid)
        #expect(server.recordCount == 1)
        #expect(server.pushes.map { $0.transactions.map(\.number.rawValue) } == [[0], [0]])
        #expect(server.pushes[0].transactions == server.pushes[1].transactions)
    }

    @Test func `a draft that was edited after a lost answer is created once and then updated`() async throws {
        let user = community.users.make(username: "Ned")
        server.loseNextAnswer()
        await #expect(throws: ModelFailure.self) { try await user.create() }
        user.username = "Eddard"
        try await user.create()
        #expect(user.isValid)
        #expect(server.recordCount == 1)
        #expect(server.pushes.map { $0.transactions.map(\.number.rawValue) } == [[0], [0], [1]])
        #expect(try await community.users.users(named: "Eddard").count == 1)
    }

    @Test func `what cannot be sent does not stand before what comes later`() async throws {
        struct Unsendable: Error {}
        let community = Community.remote(transport: server, runtime: .mock()) { transaction in
            guard transaction.mutations[0].patch["username"] != .text("Bran") else { throw Unsendable() }
            return Kind.hash(transaction)
        }
        let failure = await #expect(throws: ModelFailure.self) {
            try await community.users.make(username: "Bran").create()
        }
        #expect(failure?.code == .invalidValue)
        let user = community.users.make(username: "Ned")
        try await user.create()
        #expect(user.isValid)
    }

    @Test func `a rejected creation leaves a draft that can be fixed`() async throws {
        let user = community.users.make(username: "Ned")
        server.rejectNext(Rejection(code: .forbidden, message: "not you", mutation: nil))
        let failure = await #expect(throws: ModelFailure.self) { try await user.create() }
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

    @Test func `a placeholder fills by itself when the server answers`() async throws {
        server.put("user", IdentityTests.record(uid: 3, username: "Arya"))
        let user = try community.users.user(uid: 3)
        try await user.arrival()
        #expect(user.username == "Arya")
        #expect(try community.users.user(uid: 3) === user)
    }

    @Test func `a server that is down is told as such`() async throws {
        server.goDown()
        let user = try community.users.user(uid: 3)
        let failure = await #expect(throws: ModelFailure.self) { try await user.load() }
        #expect(failure?.code == .transport)
        #expect(failure?.message == "the server is down")
        #expect(user.presence == .awaited)
    }

    @Test func `a slow answer does not replace what was written meanwhile`() async throws {
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

    @Test func `pushes of many tasks go one at a time, without a gap`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<20 {
                let user = community.users.make(username: "user \(index)")
                group.addTask { try await user.create() }
            }
            try await group.waitForAll()
        }
        #expect(server.pushes.flatMap { $0.transactions.map(\.number.rawValue) } == Array(0..<20))
    }

    @Test func `an update says which version was seen`() async throws {
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

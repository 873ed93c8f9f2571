import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

@Suite struct PushTogetherTests {
    @Test(.ring(.test), arguments: TestRing.sample(0..<16, 0..<200) as Range<UInt64>)
    func `pushes that are made durable together have the results of the same pushes one after the other`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, stream: "together")
        var policy = AuthorityPolicy()
        policy.transactionsPerWrite = random.within(3...12)
        let (together, alone) = (AuthorityWorld(policy: policy), AuthorityWorld(policy: policy))
        var devices = (1...5).map { Device($0, principal: $0 == 5 ? "eve" : "anna") }
        for _ in 0..<12 {
            var waiting: [PendingPush] = []
            for _ in 0..<random.within(1...6) {
                let index = random.below(devices.count)
                let head = try together.head()
                let batch = try (0..<random.within(0...3)).map { _ in
                    try devices[index].number([RandomAuthorityTests.mutation(&random, head: head)])
                }
                waiting.append(Self.pending(devices[index], batch))
                // The repeat of a push, whose first attempt may be in the same group.
                if random.below(4) == 0 { waiting.append(Self.pending(devices[index], batch)) }
                // A push of a client id that belongs to someone else, if it has pushed.
                if random.below(6) == 0 {
                    var thief = Device(UInt64(random.within(1...4)), principal: "eve")
                    waiting.append(Self.pending(thief, [try thief.number([])]))
                }
                if random.below(6) == 0 {
                    waiting.append(Self.pending(devices[index], batch, account: AccountID(rawValue: "other")))
                }
            }
            var expected: [Result<PushResponse, AuthorityError>] = []
            for push in waiting {
                expected.append(
                    Result { () throws(AuthorityError) in
                        try alone.authority.push(push.request, by: push.principal, now: AuthorityWorld.now)
                    })
            }
            #expect(try Self.pushAll(waiting, to: together) == expected, "seed \(seed)")
        }
        #expect(try together.liveRecords() == alone.liveRecords(), "seed \(seed)")
        #expect(try together.page(together.cursor(0)) == alone.page(alone.cursor(0)), "seed \(seed)")
    }

    @Test func `waiting pushes share one database transaction, and their commits are announced`() async throws {
        let store = CountingStore()
        let world = AuthorityWorld(over: store)
        let news = world.authority.commits.subscribe()
        let results = world.authority.pushTogether(try Self.creates(1...5), now: AuthorityWorld.now)
        #expect(try results.map { try Self.version($0) } == (1...5).map { Version($0) })
        #expect(store.writes == 1)
        world.authority.commits.finish()
        var received: [SpaceHeads] = []
        for await heads in news { received.append(heads) }
        #expect(received == [SpaceHeads(heads: [.default: Version(5)])])
    }

    @Test func `a database transaction takes no more waiting transactions than those of one push`() throws {
        var policy = AuthorityPolicy()
        policy.transactionsPerWrite = 3
        let store = CountingStore()
        let world = AuthorityWorld(policy: policy, over: store)
        let results = world.authority.pushTogether(try Self.creates(1...5), now: AuthorityWorld.now)
        #expect(results.count == 3)
        #expect(store.writes == 1)
        #expect(try world.head() == Version(3))

        let limits = ServerLimits(pushBytes: 20, pushTransactions: 10, pageRows: 10)
        let small = AuthorityWorld(policy: AuthorityPolicy(limits: limits))
        #expect(small.authority.pushTogether(try Self.creates(1...5), now: AuthorityWorld.now).count < 5)
    }

    @Test func `a push that is invalid fails without the others`() throws {
        let world = AuthorityWorld()
        var pushes = try Self.creates(1...3)
        pushes.insert(Self.pending(Device(9), [], account: AccountID(rawValue: "other")), at: 1)
        let results = try Self.pushAll(pushes, to: world)
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true, true])
        #expect(throws: AuthorityError.self) { try results[1].get() }
        #expect(try world.head() == Version(3))
    }

    @Test(arguments: [AuthorityStoreError.Code.unstorable, .corrupt, .inputOutput])
    func `a push that the store cannot write fails without the others`(code: AuthorityStoreError.Code) throws {
        let world = AuthorityWorld(over: CountingStore(refusing: id(2), with: code))
        let results = try Self.pushAll(Self.creates(1...3), to: world)
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
        #expect(try world.fetch("user", .id(id(2))) == nil)
        #expect(try world.head() == Version(2))
    }

    @Test func `pushes whose common commit took effect although it failed take effect once`() throws {
        let world = AuthorityWorld()
        let pushes = try Self.creates(1...3)
        world.store.loseNextResponse()
        let results = try Self.pushAll(pushes, to: world)
        #expect(try results.map { try Self.version($0) } == (1...3).map { Version($0) })
        #expect(try world.head() == Version(3))
    }

    @Test(arguments: [AuthorityStoreError.Code.busy, .unreachable, .diskFull])
    func `pushes fail together, after one attempt, if the store fails for all requests`(
        code: AuthorityStoreError.Code
    ) throws {
        let store = CountingStore(refusing: id(2), with: code)
        let world = AuthorityWorld(over: store)
        let results = world.authority.pushTogether(try Self.creates(1...3), now: AuthorityWorld.now)
        #expect(results.map { (try? $0.get()) != nil } == [false, false, false])
        #expect(store.writes == 1)
        #expect(try world.head() == .zero)
    }

    @Test func `a push after the proof of a lost history is refused, as it would be alone`() throws {
        let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
        let backup = store.copy()
        let pushes = try Self.creates(1...3)
        let former = AuthorityWorld(over: store)
        _ = former.authority.pushTogether([pushes[0]], now: AuthorityWorld.now)

        let world = AuthorityWorld(over: backup)
        let proof = PushRequest(
            identity: pushes[1].request.identity, epoch: AuthorityWorld.epoch, cursors: [try former.cursor(1)],
            acknowledged: .first, transactions: pushes[1].request.transactions)
        let results = try Self.pushAll(
            [PendingPush(request: proof, principal: pushes[1].principal), pushes[2]], to: world)
        for result in results {
            guard case .refused(.epochChanged(let epoch)) = try result.get() else {
                Issue.record("expected another epoch, not \(result)")
                continue
            }
            #expect(epoch != AuthorityWorld.epoch)
        }
        #expect(try world.head() == .zero)
    }

    @Test func `a database transaction takes no further push after conflicts as large as a page`() throws {
        var policy = AuthorityPolicy()
        policy.pageBytes = 64
        let world = AuthorityWorld(policy: policy)
        var first = Device(1)
        let long = FieldValue.text(String(repeating: "a", count: 100))
        try world.push(&first, create("user", 1, ["username": .text("ned"), "bio": long]))
        try world.push(&first, update("user", 1, at: 1_000, "bio", .text(String(repeating: "b", count: 100))))
        // The edits of the other devices have not seen the second value, and lose to it.
        let pushes = try (UInt64(2)...4).map { number in
            var device = Device(number)
            return Self.pending(device, [try device.number([update("user", 1, at: 0, "bio", .text("c"))])])
        }
        #expect(world.authority.pushTogether(pushes, now: AuthorityWorld.now).count == 1)
    }

    @Test func `an edit is older by the time that its push has waited on the server`() throws {
        let world = AuthorityWorld()
        _ = world.authority.pushTogether(try Self.creates(1...1), now: AuthorityWorld.now)
        // The clocks of both devices are a day ahead, so the server derives the times of their edits from their ages.
        func push(_ number: UInt64, _ bio: String, waited seconds: Int64) throws -> PendingPush {
            var device = Device(number)
            let edit = try device.number([update("user", 1, at: 86_400_000, "bio", .text(bio))])
            let aged = NumberedTransaction(
                number: edit.number, hash: edit.hash, transaction: edit.transaction, age: .zero)
            let push = Self.pending(device, [aged])
            return PendingPush(
                request: push.request, principal: push.principal,
                received: WallTime(milliseconds: AuthorityWorld.now.milliseconds - seconds * 1_000))
        }
        let pushes = [try push(2, "later", waited: 10), try push(3, "earlier", waited: 70)]
        #expect(world.authority.pushTogether(pushes, now: AuthorityWorld.now).count == 2)
        #expect(try world.fetch("user", .id(id(1)))?.values.contains(.text("later")) == true)
    }

    // MARK: Parts

    /// Performs all pushes, those that the authority leaves over in further calls.
    private static func pushAll(
        _ pushes: [PendingPush], to world: AuthorityWorld
    ) throws -> [Result<PushResponse, AuthorityError>] {
        var results: [Result<PushResponse, AuthorityError>] = []
        while results.count < pushes.count {
            let rest = Array(pushes[results.count...])
            let next = world.authority.pushTogether(rest, now: AuthorityWorld.now)
            try #require(!next.isEmpty && next.count <= rest.count)
            results += next
        }
        return results
    }

    private static func creates(_ numbers: ClosedRange<UInt64>) throws -> [PendingPush] {
        try numbers.map { number in
            var device = Device(number)
            return pending(device, [try device.number([create("user", number, ["username": .text("name")])])])
        }
    }

    private static func pending(
        _ device: Device, _ transactions: [NumberedTransaction], account: AccountID? = nil
    ) -> PendingPush {
        let acknowledged = transactions.first?.number ?? device.acknowledged
        return PendingPush(
            request: PushRequest(
                identity: device.identity, epoch: AuthorityWorld.epoch, account: account, acknowledged: acknowledged,
                transactions: transactions),
            principal: device.principal)
    }

    private static func version(_ result: Result<PushResponse, AuthorityError>) throws -> Version? {
        guard case .answered(let results, _, _) = try result.get() else { return nil }
        return results.first?.outcome.version
    }
}

/// A store that counts its writes, and cannot write one record.
private final class CountingStore: AuthorityStore {
    private let base = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
    private let count = Guarded(0)
    private let refused: RecordID?
    private let code: AuthorityStoreError.Code

    init(refusing refused: RecordID? = nil, with code: AuthorityStoreError.Code = .unstorable) {
        self.refused = refused
        self.code = code
    }

    var writes: Int { count.withLock { $0 } }

    func read<Result>(_ body: (any AuthorityView) throws -> Result) throws -> Result { try base.read(body) }

    func write<Result>(_ body: (any AuthorityTransaction) throws -> Result) throws -> Result {
        count.withLock { $0 += 1 }
        return try base.write { transaction in
            let result = try body(transaction)
            if let refused, try transaction.record(RecordAddress("user", refused)) != nil {
                throw AuthorityStoreError(code, "the record is refused, as planned")
            }
            return result
        }
    }
}

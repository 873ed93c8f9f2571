import SyncAuthority
import SyncModel
import TestRings
import Testing

/// Tests the plans of pushes that an application's rules judge, and their comparison at the commit.
@Suite(.ring(.unit)) struct PlanTests {
    private static func pending(
        _ device: Device, _ transactions: [NumberedTransaction], _ verdicts: [TransactionNumber: RuleVerdict]? = nil
    ) -> PendingPush {
        PendingPush(request: device.request(transactions), principal: device.principal, verdicts: verdicts)
    }

    private static func plan(
        _ world: AuthorityWorld, _ device: Device, _ transactions: [NumberedTransaction]
    ) throws -> PushPlan {
        try world.authority.plan(pending(device, transactions), now: AuthorityWorld.now)
    }

    /// Plans a push of one transaction, and returns the effects of its mutations.
    private static func effects(
        _ world: AuthorityWorld, _ device: inout Device, _ mutations: Mutation...
    ) throws -> [MutationEffect] {
        let plan = try plan(world, device, [try device.number(mutations)])
        #expect(plan.count == 1)
        return plan.transactions.first?.effects ?? []
    }

    /// Commits transactions with verdicts, and returns the outcomes.
    private static func commit(
        _ world: AuthorityWorld, _ device: Device, _ transactions: [NumberedTransaction],
        _ verdicts: [TransactionNumber: RuleVerdict]?
    ) throws -> [Outcome] {
        let response = try world.authority.push(pending(device, transactions, verdicts), now: AuthorityWorld.now)
        guard case .answered(let results, _, _) = response else {
            Issue.record("\(response)")
            return []
        }
        return results.map(\.outcome)
    }

    /// Returns verdicts that accept all planned transactions, or reject them.
    private static func verdicts(
        _ plan: PushPlan, rejection: Rejection? = nil
    ) -> [TransactionNumber: RuleVerdict] {
        var verdicts: [TransactionNumber: RuleVerdict] = [:]
        for planned in plan.transactions {
            verdicts[planned.number] = RuleVerdict(on: planned, rejection: rejection)
        }
        return verdicts
    }

    /// Returns a world with user 1, whose values device 1 has written.
    private static func world() throws -> AuthorityWorld {
        let world = AuthorityWorld()
        var device = Device(1)
        let values: Patch = ["username": .text("anna"), "bio": .text("old"), "rank": .integer(5)]
        try world.push(&device, create("user", 1, values))
        return world
    }

    // MARK: Effects

    @Test func `an edit that is older than the stored value shows the stored value`() throws {
        let world = try Self.world()
        var device = Device(2)
        let effects = try Self.effects(
            world, &device, update("user", 1, at: -3_600_000, "bio", .text("new")),
            update("user", 1, "nickname", .text("ann")))
        #expect(effects.map { $0.before?.values["bio"] } == [.text("old"), .text("old")])
        #expect(effects.map { $0.after?.values["bio"] } == [.text("old"), .text("old")])
        #expect(effects.first?.after?.values["nickname"] == nil)
        #expect(effects.last?.after?.values["nickname"] == .text("ann"))
    }

    @Test func `an edit of a field in which the server wins shows the stored value beside edits that win`() throws {
        let world = try Self.world()
        var device = Device(2)
        let edits = [
            FieldEdit(field: "rank", value: .integer(1), before: .null, seen: .zero),
            FieldEdit(field: "nickname", value: .text("ann"), before: .null, seen: .zero),
        ]
        let mutation = Mutation(collection: "user", record: id(1), time: time(1), intent: .update(edits))
        let effects = try Self.effects(world, &device, mutation)
        #expect(effects.first?.after?.values["rank"] == .integer(5))
        #expect(effects.first?.after?.values["nickname"] == .text("ann"))
    }

    @Test func `a repeated create changes nothing, whatever its values are`() throws {
        let world = try Self.world()
        var device = Device(1)
        device.next = TransactionNumber(1)
        let effects = try Self.effects(
            world, &device, create("user", 1, ["username": .text("eve"), "rank": .integer(1)]),
            update("user", 1, at: 1, "bio", .text("new")))
        #expect(effects.count == 2)
        #expect(effects.first?.after == effects.first?.before)
        #expect(effects.last?.after?.values["username"] == .text("anna"))
        #expect(effects.last?.after?.values["rank"] == .integer(5))
        #expect(effects.last?.after?.values["bio"] == .text("new"))
    }

    @Test func `a create of a record that exists clears none of its fields`() throws {
        let world = try Self.world()
        var device = Device(2)
        let effects = try Self.effects(
            world, &device, create("user", 1, at: 1, ["username": .text("eve"), "bio": .null]))
        #expect(effects.first?.before?.values["username"] == .text("anna"))
        #expect(effects.first?.after?.values["username"] == .text("eve"))
        #expect(effects.first?.after?.values["bio"] == .text("old"))
    }

    @Test func `each mutation begins with the record that the earlier ones leave`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let effects = try Self.effects(
            world, &device, create("user", 1, ["username": .text("a")]), update("user", 1, "bio", .text("b")),
            create("user", 2, ["username": .text("c")]), delete("user", 1))
        #expect(effects.map { $0.before == nil } == [true, false, true, false])
        #expect(effects.map { $0.after == nil } == [false, false, false, true])
        #expect(effects.count == 4 && effects[1].before == effects[0].after && effects[3].before == effects[1].after)
    }

    // MARK: The planned part of a push

    @Test func `a plan ends before a transaction that changes the record of an earlier one`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = [
            try device.number([create("user", 1, ["username": .text("a")])]),
            try device.number([create("user", 2, ["username": .text("b")]), update("user", 2, "bio", .text("c"))]),
            try device.number([delete("user", 1)]),
            try device.number([create("user", 3, ["username": .text("d")])]),
        ]
        let plan = try Self.plan(world, device, transactions)
        #expect(plan.count == 2)
        #expect(plan.transactions.map(\.number) == transactions.prefix(2).map(\.number))
    }

    @Test func `a plan ends before a transaction that refers to a record of an earlier one`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = [
            try device.number([create("user", 1, ["username": .text("a")])]),
            try device.number([create("avatar", 2, ["url": .text("b"), "author": .reference(id(1))])]),
        ]
        #expect(try Self.plan(world, device, transactions).count == 1)
    }

    @Test func `transactions that the authority decides without rules are not planned for them`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let repeated = try device.number([create("user", 1, ["username": .text("a")])])
        _ = try world.response(device.request([repeated]), by: device.principal)
        let transactions = [
            repeated,
            try device.number([update("user", 1, "bio", .text("b"))]),
            try device.number([update("user", 9, "bio", .text("c"))]),
            try device.number([create("user", 2, ["username": .text("d")])]),
        ]
        let plan = try Self.plan(world, device, transactions)
        #expect(plan.count == 4)
        #expect(plan.transactions.map(\.number) == [transactions[1].number, transactions[3].number])
    }

    @Test func `a push that is refused is not planned`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        _ = try device.number([create("user", 1, ["username": .text("a")])])
        let afterGap = try device.number([create("user", 2, ["username": .text("b")])])
        #expect(try Self.plan(world, device, [afterGap]) == PushPlan(count: 1, transactions: []))
    }

    // MARK: Verdicts

    @Test func `a transaction is committed with the effects that were judged, or rejected by the verdict`() throws {
        let world = try Self.world()
        var device = Device(2)
        let first = try device.number([update("user", 1, "nickname", .text("ann"))])
        let plan = try Self.plan(world, device, [first])
        #expect(try Self.commit(world, device, [first], Self.verdicts(plan)).first?.version == Version(2))

        let second = try device.number([update("user", 1, "nickname", .text("spam"))])
        let rejection = Rejection(code: RejectionCode(rawValue: "spam"), message: "no", mutation: 0)
        let verdicts = Self.verdicts(try Self.plan(world, device, [second]), rejection: rejection)
        #expect(try Self.commit(world, device, [second], verdicts) == [.rejected(rejection)])
        // The outcome stays, whatever the rules say later.
        #expect(try Self.commit(world, device, [second], [:]) == [.rejected(rejection)])
        #expect(try world.value("user", 1, "nickname") == .text("ann"))
    }

    @Test func `a transaction without a verdict is not committed, nor are those after it`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = try (1...3).map { try device.number([create("user", $0, ["username": .text("a")])]) }
        var verdicts = Self.verdicts(try Self.plan(world, device, transactions))
        verdicts[transactions[1].number] = nil
        #expect(try Self.commit(world, device, transactions, verdicts).count == 1)
        #expect(try world.head() == Version(1))
        #expect(try Self.commit(world, device, Array(transactions[1...]), [:]).isEmpty)
        #expect(try Self.commit(world, device, Array(transactions[1...]), nil).count == 2)
    }

    @Test func `a verdict does not hold after another push has changed the record`() throws {
        let world = try Self.world()
        var (device, other) = (Device(2), Device(3))
        let edit = try device.number([update("user", 1, "nickname", .text("ann"))])
        let verdicts = Self.verdicts(try Self.plan(world, device, [edit]))
        try world.push(&other, update("user", 1, "bio", .text("new")))
        #expect(try Self.commit(world, device, [edit], verdicts).isEmpty)
        #expect(try world.value("user", 1, "nickname") == .null)

        let again = Self.verdicts(try Self.plan(world, device, [edit]))
        #expect(again[edit.number]?.planned.effects.first?.before?.values["bio"] == .text("new"))
        #expect(try Self.commit(world, device, [edit], again).first?.version == Version(3))
    }

    @Test func `of two pushes that were judged at once, only the first is committed in the same write`() throws {
        let world = try Self.world()
        var (first, second) = (Device(2), Device(3))
        let edits = [
            try first.number([update("user", 1, "rank", .integer(6), seen: Version(1))]),
            try second.number([update("user", 1, "rank", .integer(7), seen: Version(1))]),
        ]
        let pushes = [
            Self.pending(first, [edits[0]], Self.verdicts(try Self.plan(world, first, [edits[0]]))),
            Self.pending(second, [edits[1]], Self.verdicts(try Self.plan(world, second, [edits[1]]))),
        ]
        let responses = try world.authority.pushTogether(pushes, now: AuthorityWorld.now).map { try $0.get() }
        let counts = responses.map { response in
            if case .answered(let results, _, _) = response { results.count } else { -1 }
        }
        #expect(counts == [1, 0])
        #expect(try world.value("user", 1, "rank") == .integer(6))
    }
}

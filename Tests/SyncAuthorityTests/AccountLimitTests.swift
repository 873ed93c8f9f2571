import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

/// The limits on what one account stores.
@Suite struct AccountLimitTests {
    private static func world(bytes: Int = .max, clients: Int = .max) -> AuthorityWorld {
        AuthorityWorld(policy: AuthorityPolicy(accounts: AccountLimits(bytes: bytes, clients: clients)))
    }

    private static func text(_ count: Int) -> FieldValue { .text(String(repeating: "t", count: count)) }

    @Test func `S26: an account that stores as much as it may cannot store more, and others can`() throws {
        let world = Self.world(bytes: 2_000)
        var (anna, eve) = (Device(1), Device(2, principal: "eve"))
        try world.push(&anna, create("user", 1, ["username": .text("ann"), "bio": Self.text(1_000)]))
        let outcome = try world.push(&anna, create("user", 2, ["username": .text("bob"), "bio": Self.text(1_000)]))
        guard case .rejected(let rejection) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(rejection.code == .quotaExceeded)
        #expect(
            rejection.message == "the account anna stores 1303 bytes, and 1303 more would exceed its limit of 2000")
        #expect(try world.fetch("user", .id(id(2))) == nil)
        #expect(try world.push(&eve, create("user", 3, ["username": .text("eve")])).version != nil)
        #expect(try world.push(&anna, create("user", 4, ["username": .text("amy")])).version != nil)
    }

    @Test func `an account at its limit may delete, shorten values, and repeat what was taken`() throws {
        let world = Self.world(bytes: 1_310)
        var anna = Device(1)
        let first = try anna.number([create("user", 1, ["username": .text("ann"), "bio": Self.text(1_000)])])
        guard case .answered(let results, _, _) = try world.response(anna.request([first]), by: anna.principal) else {
            Issue.record("the first push was refused")
            return
        }
        #expect(try world.push(&anna, update("user", 1, at: 1, "bio", Self.text(1_100))).rejection == .quotaExceeded)
        guard case .answered(let repeated, _, _) = try world.response(anna.request([first]), by: anna.principal) else {
            Issue.record("the repeated push was refused")
            return
        }
        #expect(repeated.map(\.outcome) == results.map(\.outcome))
        #expect(try world.push(&anna, update("user", 1, at: 2, "bio", Self.text(1_000))).rejection == nil)
        #expect(try world.push(&anna, update("user", 1, at: 3, "bio", Self.text(10))).version != nil)
        #expect(try world.push(&anna, delete("user", 1, at: 4)).version != nil)
    }

    @Test func `a measurement replaces what was counted since the one before`() throws {
        let world = Self.world(bytes: 2_000)
        var anna = Device(1)
        try world.push(&anna, create("user", 1, ["username": .text("ann"), "bio": Self.text(1_000)]))
        try world.push(&anna, update("user", 1, at: 1, "bio", Self.text(10)))
        let longer = create("user", 2, ["username": .text("bob"), "bio": Self.text(1_000)])
        #expect(try world.push(&anna, longer).rejection == .quotaExceeded)
        try world.authority.measureUsage()
        #expect(try world.push(&anna, longer).version != nil)
        try world.authority.measureUsage()
        #expect(
            try world.push(&anna, create("user", 3, ["username": .text("amy"), "bio": Self.text(100)])).rejection
                == .quotaExceeded)
    }

    @Test func `a new server knows what was stored before it as soon as it has measured`() throws {
        let before = AuthorityWorld()
        var anna = Device(1)
        try before.push(&anna, create("user", 1, ["username": .text("ann"), "bio": Self.text(1_000)]))
        let policy = AuthorityPolicy(accounts: AccountLimits(bytes: 1_400, clients: 1))
        let world = AuthorityWorld(policy: policy, over: before.store)
        try world.authority.measureUsage()
        #expect(try world.push(&anna, create("user", 2, ["username": .text("bob")])).rejection == .quotaExceeded)
        var other = Device(2)
        #expect(throws: AuthorityError.self) {
            try world.push(&other, create("user", 3, ["username": .text("amy")]))
        }
    }

    @Test func `S26: an account may not push with more clients than permitted, and is told when to retry`() throws {
        let world = Self.world(clients: 2)
        for number: UInt64 in 1...2 {
            var device = Device(number)
            try world.push(&device, create("user", number, ["username": .text("ann")]))
        }
        var third = Device(3)
        do {
            try world.push(&third, create("user", 3, ["username": .text("ann")]))
            Issue.record("a third client has pushed")
        } catch let error as AuthorityError {
            #expect(error.code == .quotaExceeded)
            #expect(
                error.message
                    == "the account anna writes with as many devices already as it may on this server (2)")
            #expect(error.retryAfter == .seconds(60))
        }
        var eve = Device(4, principal: "eve")
        #expect(try world.push(&eve, create("user", 4, ["username": .text("eve")])).version != nil)
        var first = Device(1)
        first.next = TransactionNumber.first.next
        #expect(try world.push(&first, update("user", 1, at: 1, "bio", .text("again"))).version != nil)
    }

    /// Regression test: each restore of a device's database used up one more device of the account.
    @Test func `a device that takes a new client id counts once, and a copy that still pushes counts, too`() throws {
        let world = Self.world(clients: 1)
        var first = Device(1)
        try world.push(&first, create("user", 1, ["username": .text("ann")]))
        func push(by device: inout Device, naming former: Device) throws -> Outcome? {
            let sent = try device.number([update("user", 1, at: 5, "bio", .text("\(device.identity)"))])
            let named = NumberedTransaction(
                number: sent.number, hash: sent.hash, transaction: sent.transaction,
                formerNumbers: [FormerNumber(identity: former.identity, number: sent.number, hash: sent.hash)])
            guard case .answered(let results, _, _) = try world.response(device.request([named]), by: device.principal)
            else { return nil }
            return results.first?.outcome
        }
        var restored = [Device(2), Device(3)]
        #expect(try push(by: &restored[0], naming: first)?.version != nil)
        #expect(try push(by: &restored[1], naming: restored[0])?.version != nil)
        try world.authority.measureUsage()
        #expect(try world.push(&restored[1], update("user", 1, at: 6, "bio", .text("again"))).version != nil)
        // Another restore of the first backup, which names a client that is replaced already.
        var again = Device(8)
        #expect(try push(by: &again, naming: first)?.version != nil)
        restored[1] = again
        // A repeat of a replaced client gets its outcome, and counts for nothing.
        var repeated = Device(1)
        let sent = try repeated.number([create("user", 1, ["username": .text("ann")])])
        guard case .answered = try world.response(repeated.request([sent]), by: repeated.principal) else {
            Issue.record("a repeat was refused")
            return
        }
        #expect(try world.push(&restored[1], update("user", 1, at: 6, "bio", .text("again"))).version != nil)
        // The id of another account, or an unknown one, makes no room.
        var eve = Device(4, principal: "eve")
        try world.push(&eve, create("user", 4, ["username": .text("eve")]))
        for stranger in [eve, Device(5)] {
            var further = Device(6)
            #expect(throws: AuthorityError.self) { try push(by: &further, naming: stranger) }
        }
        // A copy of the first database is a further device.
        #expect(throws: AuthorityError.self) { try world.push(&first, update("user", 1, at: 7, "bio", .text("copy"))) }
        #expect(try world.authority.release(restored[1].identity.client) == Principal(name: "anna"))
        #expect(try world.authority.release(Device(99).identity.client) == nil)
        #expect(try world.push(&restored[1], update("user", 1, at: 8, "bio", .text("back"))).version != nil)
        let wider = AuthorityWorld(policy: AuthorityPolicy(accounts: AccountLimits(clients: 2)), over: world.store)
        first.next = TransactionNumber.first.next
        #expect(try wider.push(&first, update("user", 1, at: 7, "bio", .text("copy"))).version != nil)
        var third = Device(7)
        #expect(throws: AuthorityError.self) {
            try wider.push(&third, create("user", 7, ["username": .text("amy")]))
        }
    }

    @Test func `pushes that are made durable together are refused one by one`() throws {
        let world = Self.world(clients: 1)
        var (first, second, eve) = (Device(1), Device(2), Device(3, principal: "eve"))
        let pushes = [
            PendingPush(
                request: first.request([try first.number([create("user", 1, ["username": .text("ann")])])]),
                principal: first.principal),
            PendingPush(
                request: second.request([try second.number([create("user", 2, ["username": .text("bob")])])]),
                principal: second.principal),
            PendingPush(
                request: eve.request([try eve.number([create("user", 3, ["username": .text("eve")])])]),
                principal: eve.principal),
        ]
        let results = world.authority.pushTogether(pushes, now: AuthorityWorld.now)
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true])
    }

    /// Regression test: what a transaction added counted, although it was rolled back.
    @Test func `a push that the store did not take does not count`() throws {
        let policy = AuthorityPolicy(accounts: AccountLimits(bytes: 1_400, clients: 1))
        var failures = 0
        while true {
            let world = AuthorityWorld(policy: policy)
            var anna = Device(1)
            let push = anna.request([
                try anna.number([create("user", 1, ["username": .text("ann"), "bio": Self.text(1_000)])])
            ])
            world.store.arm(after: failures)
            do {
                _ = try world.response(push, by: anna.principal)
            } catch {
                world.store.disarm()
                failures += 1
                let response = try world.response(push, by: anna.principal)
                guard case .answered(let results, _, _) = response, case .applied? = results.first?.outcome else {
                    Issue.record("after a failure of call \(failures - 1): \(response)")
                    return
                }
                continue
            }
            break
        }
        #expect(failures > 5)
    }
}

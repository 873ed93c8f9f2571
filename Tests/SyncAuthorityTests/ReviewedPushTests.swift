import SyncAuthority
import SyncConcurrency
import SyncModel
import TestRings
import Testing

/// Tests the rounds in which a push is planned, judged, and committed.
@Suite(.ring(.unit)) struct ReviewedPushTests {
    private struct Broken: Error {}

    /// The numbers of the transactions that were judged, in order, and the time of the test.
    private struct Log {
        var judged: [TransactionNumber] = []
        var commits = 0
        var uptime = Duration.zero
    }

    private let log = Guarded(Log())

    /// Returns the response to a push.
    private func push(
        _ transactions: [NumberedTransaction], of device: Device, to world: AuthorityWorld,
        judge: @escaping @Sendable (PlannedTransaction) throws -> Rejection? = { _ in nil }
    ) async throws -> PushResponse {
        let (authority, log) = (world.authority, log)
        let push = ReviewedPush(
            principal: device.principal, received: AuthorityWorld.now, uptime: { log.withLock { $0.uptime } },
            plan: { part in try authority.plan(part, now: AuthorityWorld.now) },
            judge: { planned in
                log.withLock { $0.judged.append(planned.number) }
                return try judge(planned)
            },
            commit: { part in
                log.withLock { $0.commits += 1 }
                return try authority.push(part, now: AuthorityWorld.now)
            })
        return try await push.response(to: device.request(transactions))
    }

    private func results(_ response: PushResponse) -> [TransactionResult] {
        guard case .answered(let results, _, _) = response else {
            Issue.record("\(response)")
            return []
        }
        return results
    }

    /// Returns true at the first call.
    private static func isFirst(_ flag: Guarded<Bool>) -> Bool {
        flag.withLock { flag in
            defer { flag = false }
            return flag
        }
    }

    /// Returns a device with a creation and two edits of one record, and a creation of another.
    private func edits() throws -> (Device, [NumberedTransaction]) {
        var device = Device(1)
        let transactions = [
            try device.number([create("user", 1, ["username": .text("a")])]),
            try device.number([update("user", 1, at: 1, "bio", .text("b"))]),
            try device.number([update("user", 1, at: 2, "bio", .text("c"))]),
            try device.number([create("user", 2, ["username": .text("d")])]),
        ]
        return (device, transactions)
    }

    @Test func `several edits of one record are judged one after the other, and answered together`() async throws {
        let world = AuthorityWorld()
        let (device, transactions) = try edits()
        let bios = Guarded<[FieldValue?]>([])
        let response = try await push(transactions, of: device, to: world) { planned in
            bios.withLock { $0.append(planned.effects.first?.before?.values["bio"]) }
            return nil
        }
        let results = results(response)
        #expect(results.map(\.number) == transactions.map(\.number))
        #expect(results.map(\.outcome.version) == [Version(1), Version(2), Version(3), Version(4)])
        #expect(results.map { $0.receipt == nil } == [true, true, true, false])
        #expect(log.withLock { $0.judged } == transactions.map(\.number))
        #expect(log.withLock { $0.commits } == 3)
        #expect(bios.withLock { $0 } == [nil, nil, .text("b"), nil])
    }

    @Test func `a push with a hundred edits of one record is answered whole`() async throws {
        let world = AuthorityWorld()
        var device = Device(1)
        var transactions = [try device.number([create("user", 1, ["username": .text("a")])])]
        for number in 1...100 {
            transactions.append(try device.number([update("user", 1, at: Int64(number), "bio", .text("\(number)"))]))
        }
        let results = results(try await push(transactions, of: device, to: world))
        #expect(results.map(\.outcome.version) == (1...101).map { Version($0) })
        #expect(log.withLock { $0.judged } == transactions.map(\.number))
    }

    @Test func `a repeated create is not shown to the rules`() async throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let first = create("user", 1, ["username": .text("a")])
        let transactions = [
            try device.number([first]), try device.number([first, create("user", 2, ["username": .text("b")])]),
        ]
        let repeats = Guarded<[[Bool]]>([])
        _ = try await push(transactions, of: device, to: world) { planned in
            repeats.withLock { $0.append(planned.effects.map(\.isRepeat)) }
            return nil
        }
        #expect(repeats.withLock { $0 } == [[false], [true, false]])
    }

    @Test func `the transactions after a rejected one are judged and answered, too`() async throws {
        let world = AuthorityWorld()
        let (device, transactions) = try edits()
        let spam = Rejection(code: RejectionCode(rawValue: "spam"), message: "no", mutation: 0)
        let response = try await push(transactions, of: device, to: world) { planned in
            planned.effects.first?.after?.values["bio"] == .text("b") ? spam : nil
        }
        let results = results(response)
        #expect(results.count == 4)
        #expect(results.map { $0.outcome.rejection == nil } == [true, false, true, true])
        #expect(try world.value("user", 1, "bio") == .text("c"))
    }

    @Test func `a transaction is judged again when another push changes its record meanwhile`() async throws {
        let world = AuthorityWorld()
        var (device, other) = (Device(1), Device(2))
        try world.push(&other, create("user", 1, ["username": .text("a")]))
        let edit = try device.number([update("user", 1, "bio", .text("b"))])
        let competing = other.request([try other.number([update("user", 1, "nickname", .text("n"))])])
        let isFirst = Guarded(true)
        let nicknames = Guarded<[FieldValue?]>([])
        let response = try await push([edit], of: device, to: world) { planned in
            nicknames.withLock { $0.append(planned.effects.first?.after?.values["nickname"]) }
            if Self.isFirst(isFirst) {
                _ = try world.authority.push(competing, by: Principal(name: "anna"), now: AuthorityWorld.now)
            }
            return nil
        }
        #expect(results(response).map(\.outcome.version) == [Version(3)])
        #expect(nicknames.withLock { $0 } == [nil, .text("n")])
    }

    @Test func `verdicts on transactions with the same effects are kept for the next round`() async throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = [
            try device.number([create("user", 1, ["username": .text("a")])]),
            try device.number([create("user", 2, ["username": .text("b")])]),
        ]
        var other = Device(2)
        let competing = other.request([try other.number([create("user", 1, ["username": .text("c")])])])
        let isFirst = Guarded(true)
        let response = try await push(transactions, of: device, to: world) { _ in
            if Self.isFirst(isFirst) {
                _ = try world.authority.push(competing, by: Principal(name: "anna"), now: AuthorityWorld.now)
            }
            return nil
        }
        #expect(results(response).count == 2)
        let (first, second) = (transactions[0].number, transactions[1].number)
        #expect(log.withLock { $0.judged } == [first, second, first])
    }

    @Test func `a push whose record changes all the time is to be sent again later`() async throws {
        let world = AuthorityWorld()
        var (device, other) = (Device(1), Device(2))
        try world.push(&other, create("user", 1, ["username": .text("a")]))
        let edit = try device.number([update("user", 1, "bio", .text("b"))])
        let competing = Guarded(other)
        let error = await #expect(throws: AuthorityError.self) {
            try await push([edit], of: device, to: world) { planned in
                try competing.withLock { other in
                    let rank = FieldValue.integer(other.next.rawValue)
                    _ = try world.push(&other, update("user", 1, "rank", rank))
                }
                return nil
            }
        }
        #expect(error?.code == .unavailable)
        #expect(error?.retryAfter == .seconds(1))
        #expect(log.withLock { $0.judged.count } == AuthorityLimits.vainReviews)
        #expect(try world.value("user", 1, "bio") == .null)
    }

    @Test func `the transactions before one whose rules fail are committed`() async throws {
        let world = AuthorityWorld()
        let (device, transactions) = try edits()
        let response = try await push(transactions, of: device, to: world) { planned in
            if planned.number == transactions[2].number { throw Broken() }
            return nil
        }
        #expect(results(response).map(\.number) == transactions.prefix(2).map(\.number))
        #expect(try world.value("user", 1, "bio") == .text("b"))
        await #expect(throws: Broken.self) {
            try await push(Array(transactions[2...]), of: device, to: world) { _ in throw Broken() }
        }
    }

    @Test func `a push is answered as far as it got when the time for its rules is over`() async throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = try (1...5).map { try device.number([create("user", $0, ["username": .text("a")])]) }
        let log = log
        let response = try await push(transactions, of: device, to: world) { _ in
            log.withLock { $0.uptime += .seconds(6) }
            return nil
        }
        #expect(results(response).count == 2)
        #expect(log.withLock { $0.judged.count } == 2)
    }

    @Test func `the outcomes of earlier rounds are kept until the client has received them`() async throws {
        let world = AuthorityWorld()
        var other = Device(9)
        try world.push(&other, create("user", 1, ["username": .text("a"), "bio": .text("x")]))
        // Each outcome has a conflict between two long values, so not all of them fit into the limit for kept outcomes.
        let long = String(repeating: "l", count: 60_000)
        try world.push(&other, update("user", 1, "bio", .text(long)))
        var device = Device(1)
        let transactions = try (1...12).map { number in
            try device.number([update("user", 1, at: Int64(-number), "bio", .text("\(number)" + long))])
        }
        let response = try await push(transactions, of: device, to: world)
        #expect(results(response).count == 12)
        let again = try world.response(device.request(transactions), by: device.principal)
        #expect(results(again).count == 12)
    }

    @Test func `a push without transactions is answered`() async throws {
        let response = try await push([], of: Device(1), to: AuthorityWorld())
        #expect(results(response).isEmpty)
    }
}

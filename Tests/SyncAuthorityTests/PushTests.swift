import SyncAuthority
import SyncConcurrency
import SyncModel
import SyncTestKit
import SyncWire
import TestRings
import Testing

@Suite struct PushTests {
    private func numbered(_ device: inout Device, _ count: Int) throws -> [NumberedTransaction] {
        try (0..<count).map { index in
            try device.number([create("user", UInt64(device.next.rawValue) + 100, ["username": .text("u\(index)")])])
        }
    }

    /// Returns the results of a response without receipts, because whether a result has a receipt depends on the
    /// results after it.
    private func outcomes(_ response: PushResponse) throws -> [TransactionResult] {
        guard case .answered(let results, let epoch, _) = response else {
            Issue.record("\(response)")
            return []
        }
        #expect(epoch == AuthorityWorld.epoch)
        return results.map { TransactionResult(number: $0.number, outcome: $0.outcome) }
    }

    @Test func `an empty transaction finds out the outcome under a former number, and applies nothing`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let sent = try device.number([create("user", 1, ["username": .text("a")])])
        guard
            case .answered(let first, _, _) = try world.response(
                device.request([sent]), by: device.principal)
        else {
            Issue.record("refused")
            return
        }
        let former = FormerNumber(identity: device.identity, number: sent.number, hash: sent.hash)
        let stranger = FormerNumber(identity: device.identity.next, number: sent.number, hash: sent.hash)
        for (formerNumbers, isKnown) in [([stranger, former], true), ([stranger], false)] {
            device = Device(1, incarnation: isKnown ? 2 : 3)
            let empty = try device.number([])
            let question = NumberedTransaction(
                number: empty.number, hash: empty.hash, transaction: empty.transaction, formerNumbers: formerNumbers)
            guard
                case .answered(let results, _, _) = try world.response(
                    device.request([question]), by: device.principal)
            else {
                Issue.record("refused")
                return
            }
            #expect(results.map(\.outcome.rejection) == [isKnown ? nil : .malformed])
            if isKnown { #expect(results.map(\.outcome) == first.map(\.outcome)) }
        }
        #expect(try world.head() == Version(1))
    }

    @Test func `a repeated push gets the same outcome and has no further effect`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 3)
        let first = try outcomes(world.response(device.request(batch), by: device.principal))
        #expect(first.map(\.outcome.version) == [Version(1), Version(2), Version(3)])
        #expect(try outcomes(world.response(device.request(batch), by: device.principal)) == first)
        #expect(try outcomes(world.response(device.request([batch[1]]), by: device.principal)) == [first[1]])
        let more = try batch + numbered(&device, 1)
        let joined = try outcomes(world.response(device.request(more), by: device.principal))
        #expect(Array(joined.prefix(3)) == first)
        #expect(joined.last?.outcome.version == Version(4))
        #expect(try world.head() == Version(4))
    }

    @Test func `a response that conflicts make too long ends early, and the next push gets the rest`() throws {
        let world = AuthorityWorld(policy: AuthorityPolicy(pageBytes: 2_000))
        var (ann, bo) = (Device(1), Device(2))
        try world.push(
            &ann,
            create("user", 1, at: 5, ["username": .text("ann"), "bio": .text(String(repeating: "a", count: 1_500))]))
        let batch = try (0..<4).map { index in
            try bo.number([update("user", 1, at: 1, "bio", .text("b\(index)"))])
        }
        let first = try outcomes(world.response(bo.request(batch), by: bo.principal))
        #expect(first.map(\.number) == batch.prefix(2).map(\.number))
        let again = try outcomes(world.response(bo.request(batch), by: bo.principal))
        #expect(again == first, "a repeat is as long")
        let rest = try outcomes(world.response(bo.request(Array(batch[2...])), by: bo.principal))
        #expect(rest.map(\.number) == batch[2...].map(\.number))
    }

    @Test func `a transaction with too many conflicts is rejected and changes nothing`() throws {
        let world = AuthorityWorld()
        var (ann, bo) = (Device(1), Device(2))
        let long = String(repeating: "a", count: SchemaLimits.textBytes)
        try world.push(&ann, create("user", 1, at: 5, ["username": .text("ann"), "bio": .text(long)]))
        let count = AuthorityLimits.conflictBytes / SchemaLimits.textBytes + 1
        let edits = (0..<count).map { update("user", 1, at: 1, "bio", .text("b\($0)")) }
        let many = try bo.number(edits)
        let found = try outcomes(world.response(bo.request([many]), by: bo.principal))
        #expect(found.first?.outcome.rejection == .tooLarge)
        #expect(try world.head() == Version(1))
    }

    /// The values of a record remain when the limits of its fields change.
    @Test(.ring(.test)) func `a record that has values beyond the present limits does not become too long for a page`()
        throws
    {
        let store = InMemoryAuthorityStore(epoch: AuthorityWorld.epoch)
        var device = Device(1)
        func push(_ changes: [FieldName: FieldValue], serving lengths: [Int]) throws -> Outcome? {
            let fields = lengths.enumerated().map { index, length in
                FieldSchema.text(FieldName(rawValue: "f\(index)")!, bytes: 0...length)
            }
            let authority = Authority(
                store: store, catalog: SchemaCatalog([ModelSchema(collection: "doc", fields: fields)]),
                histories: CountedHistories())
            let edits = changes.map { FieldEdit(field: $0, value: $1, before: .null, seen: .zero) }
            let isNew = try authority.store.read { view in try view.record(RecordAddress("doc", id(1))) } == nil
            let change =
                isNew
                ? create("doc", 1, [:])
                : Mutation(
                    collection: "doc", record: id(1), time: time(1), intent: .update(edits))
            let numbered = try device.number([change])
            let response = try authority.push(
                device.request([numbered]), by: device.principal, now: AuthorityWorld.now)
            guard case .answered(let results, _, _) = response else { throw AuthorityWorld.Unexpected() }
            return results.first?.outcome
        }
        func text(_ count: Int) -> FieldValue { .text(String(repeating: "a", count: count)) }
        let (long, short) = (1_024 * 1_024, 10)
        let earlier = [long, long, long, long]
        let present = [short, short, short, short, long]
        #expect(try push([:], serving: earlier)?.rejection == nil)
        for field in ["f0", "f1", "f2", "f3"] as [FieldName] {
            #expect(try push([field: text(1_048_000)], serving: earlier)?.rejection == nil)
        }
        #expect(try push(["f4": text(2_304)], serving: present)?.rejection == nil)
        let refused = try push(["f4": text(2_305)], serving: present)
        #expect(refused?.rejection == .tooLarge)
        guard case .rejected(let rejection) = refused else { throw AuthorityWorld.Unexpected() }
        #expect(
            rejection.message.hasSuffix(
                "would have 4194305 bytes of text and JSON; at most 4194304 are allowed in one record"),
            "\(rejection.message)")
        #expect(rejection.fields == ["f4"])
        #expect(try push(["f0": text(10), "f4": text(1_000_000)], serving: present)?.rejection == nil)
    }

    @Test func `a rejection is remembered as an outcome`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let bad = try device.number([delete("user", 1)])
        let first = try outcomes(world.response(device.request([bad]), by: device.principal))
        #expect(first.first?.outcome.rejection == .missingRecord)
        var other = Device(2)
        try world.push(&other, create("user", 1, ["username": .text("ann")]))
        #expect(try outcomes(world.response(device.request([bad]), by: device.principal)) == first)
    }

    @Test func `a device that creates a record that exists does not know its own earlier values`() throws {
        func losers(_ outcome: Outcome) -> [FieldValue] {
            guard case .applied(_, _, let conflicts) = outcome else { return [] }
            return conflicts.map(\.loser.value)
        }
        let world = AuthorityWorld()
        var device = Device(1)
        try world.push(&device, create("user", 1, ["username": .text("ann"), "bio": .text("old")]))
        #expect(
            losers(try world.push(&device, update("user", 1, at: 1, "username", .text("anna")))).isEmpty,
            "a device knows its own values")
        // The device has left the space in between, and follows it again.
        #expect(
            losers(try world.push(&device, create("user", 1, at: 2, ["username": .text("eve")]))) == [.text("anna")])
        #expect(losers(try world.push(&device, update("user", 1, at: 3, "username", .text("eva")))).isEmpty)
        #expect(
            losers(try world.push(&device, update("user", 1, at: 4, "bio", .text("new")))) == [.text("old")],
            "it has not seen the values that its create left empty either")
        #expect(losers(try world.push(&device, update("user", 1, at: 5, "bio", .text("newer")))).isEmpty)
    }

    @Test func `a gap in the numbers is refused with the expected number`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 3)
        #expect(
            try world.response(device.request([batch[1]]), by: device.principal) == .refused(.gap(expected: .first)))
        _ = try world.response(device.request([batch[0]]), by: device.principal)
        #expect(
            try world.response(device.request([batch[2]]), by: device.principal)
                == .refused(.gap(expected: TransactionNumber(1))))
        #expect(try world.head() == Version(1))
    }

    @Test func `a reused number with different contents is an identity conflict and changes nothing`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 2)
        _ = try world.response(device.request(batch), by: device.principal)
        var copy = Device(1)
        copy.next = TransactionNumber(1)
        let other = try copy.number([create("user", 55, ["username": .text("other")])])
        let more = try copy.number([create("user", 56, ["username": .text("more")])])
        #expect(
            try world.response(device.request([other, more]), by: device.principal)
                == .refused(.identityConflict(number: TransactionNumber(1))))
        #expect(try world.head() == Version(2))
        #expect(try world.fetch("user", .id(id(56))) == nil)
    }

    @Test
    func `an outcome is forgotten only after many more acknowledgments, and then its number is an identity conflict`()
        throws
    {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 2)
        _ = try world.response(device.request(batch), by: device.principal)
        device.acknowledged = TransactionNumber(2)
        #expect(try outcomes(world.response(device.request([]), by: device.principal)).isEmpty)
        device.acknowledged = .first
        #expect(
            try outcomes(world.response(device.request(batch), by: device.principal)).count == 2,
            "a device restored from a backup gets its outcomes again")
        for _ in 2..<(AuthorityLimits.keptOutcomes + 1) { try world.push(&device, update("user", 9, "bio", .null)) }
        device.acknowledged = TransactionNumber(Int64(AuthorityLimits.keptOutcomes) + 1)
        _ = try world.response(device.request([]), by: device.principal)
        device.acknowledged = .first
        #expect(
            try world.response(device.request(batch), by: device.principal)
                == .refused(.identityConflict(number: .first)))
        #expect(try outcomes(world.response(device.request([batch[1]]), by: device.principal)).count == 1)
    }

    @Test func `the outcomes of a client that acknowledges none are bounded`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let pushes = 4
        let batches = try (0..<pushes).map { _ in try numbered(&device, AuthorityLimits.pushTransactions / 2) }
        for batch in batches { _ = try world.response(device.request(batch), by: device.principal) }
        func isKept(_ numbered: NumberedTransaction) throws -> Bool {
            let response = try world.response(device.request([numbered]), by: device.principal)
            return response != .refused(.identityConflict(number: numbered.number))
        }
        #expect(try isKept(batches[0][0]))
        let more = try numbered(&device, 10)
        _ = try world.response(device.request(more), by: device.principal)
        #expect(try !isKept(batches[0][0]) && !isKept(batches[0][9]))
        #expect(try isKept(batches[0][10]) && isKept(more[9]))
    }

    @Test func `the outcomes with large conflicts are bounded, but not those of the push itself`() throws {
        let world = AuthorityWorld()
        var (owner, device) = (Device(1), Device(2))
        let size = 60_000
        let large = FieldValue.text(String(repeating: "w", count: size))
        try world.push(&owner, create("user", 1, at: 9, ["username": .text("anna"), "bio": large]))
        // Each outcome has two large values.
        let most = AuthorityLimits.keptOutcomeBytes / (2 * size)
        var sent: [NumberedTransaction] = []
        for number in 0..<(most + 3) {
            let lost = FieldValue.text(String(repeating: "\(number % 10)", count: size))
            let numbered = try device.number([update("user", 1, at: 1, "bio", lost)])
            sent.append(numbered)
            let results = try outcomes(world.response(device.request([numbered]), by: device.principal))
            #expect(results.first?.outcome.conflicts.count == 1)
        }
        let forgotten = try sent.prefix { numbered in
            try world.response(device.request([numbered]), by: device.principal)
                == .refused(.identityConflict(number: numbered.number))
        }
        #expect(forgotten.count == 2, "all but those that fit, and the last push")
    }

    /// Regression test: a client that pushed with a new incarnation each time left its outcomes forever.
    @Test func `the outcomes of former incarnations are forgotten, and their ledgers stay`() throws {
        let world = AuthorityWorld()
        let most = AuthorityLimits.keptIncarnations
        var sent: [(device: Device, numbered: NumberedTransaction)] = []
        for incarnation in 0..<(most + 3) {
            var device = Device(1, incarnation: incarnation)
            let numbered = try device.number([update("user", 9, "bio", .null)])
            _ = try world.response(device.request([numbered]), by: device.principal)
            sent.append((device, numbered))
        }
        for (incarnation, sent) in sent.enumerated() {
            let response = try world.response(sent.device.request([sent.numbered]), by: sent.device.principal)
            let isForgotten = response == .refused(.identityConflict(number: .first))
            #expect(isForgotten == (incarnation < 2), "incarnation \(incarnation)")
        }
    }

    @Test func `a push with another principal's client id is refused`() throws {
        let world = AuthorityWorld()
        var anna = Device(1, principal: "anna")
        var eve = Device(1, principal: "eve")
        let batch = try numbered(&anna, 2)
        let first = try outcomes(world.response(anna.request(batch), by: anna.principal))
        let conflict = PushResponse.refused(.identityConflict(number: .first))
        #expect(try world.response(eve.request([eve.number([delete("user", 1)])]), by: eve.principal) == conflict)
        #expect(
            try world.response(anna.request([batch[1]]), by: eve.principal)
                == .refused(.identityConflict(number: TransactionNumber(1))))
        #expect(try outcomes(world.response(anna.request(batch), by: anna.principal)) == first)
    }

    @Test func `acknowledging numbers that were never sent does not affect later transactions`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        device.acknowledged = TransactionNumber(5)
        _ = try world.response(device.request([]), by: device.principal)
        device.acknowledged = .first
        let batch = try numbered(&device, 1)
        #expect(try outcomes(world.response(device.request(batch), by: device.principal)).count == 1)
        #expect(try outcomes(world.response(device.request(batch), by: device.principal)).count == 1)
    }

    @Test func `a push with another epoch is refused with the current one, and a push without an epoch is accepted`()
        throws
    {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 1)
        #expect(
            try world.response(device.request(batch, epoch: Epoch(rawValue: "old")), by: device.principal)
                == .refused(.epochChanged(AuthorityWorld.epoch)))
        #expect(try world.head() == .zero)
        #expect(try outcomes(world.response(device.request(batch, epoch: nil), by: device.principal)).count == 1)
        try world.authority.startNewEpoch(.fixed(Epoch(rawValue: "epoch-2")))
        #expect(
            try world.response(device.request(batch), by: device.principal)
                == .refused(.epochChanged(Epoch(rawValue: "epoch-2"))))
    }

    struct BadNumbers: Sendable {
        let numbers: [Int64]
        let acknowledged: Int64
    }

    static let badNumbers: [BadNumbers] = [
        BadNumbers(numbers: [0, 2], acknowledged: 0), BadNumbers(numbers: [1, 0], acknowledged: 0),
        BadNumbers(numbers: [0, 0], acknowledged: 0), BadNumbers(numbers: [-1], acknowledged: -1),
        BadNumbers(numbers: [0], acknowledged: 1), BadNumbers(numbers: [], acknowledged: -3),
        BadNumbers(numbers: [.max], acknowledged: 0),
    ]

    @Test(arguments: badNumbers)
    func `a push with invalid numbers is malformed`(_ bad: BadNumbers) throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let transactions = try bad.numbers.map { number in
            device.next = TransactionNumber(number == .max ? .max - 1 : number)
            let made = try device.number([delete("user", 1)])
            return NumberedTransaction(
                number: TransactionNumber(number), hash: made.hash, transaction: made.transaction)
        }
        device.acknowledged = TransactionNumber(bad.acknowledged)
        let failure = #expect(throws: AuthorityError.self) {
            try world.response(device.request(transactions), by: device.principal)
        }
        #expect(failure?.code == .malformed)
    }

    @Test(arguments: [
        (7, "the push acknowledges outcomes below 7, so it must begin with transaction 7 or later; found 5"),
        (-1, "the push acknowledges outcomes below -1; expected 0 or more"),
    ])
    func `a push that acknowledges the wrong outcomes is refused with what was expected`(
        acknowledged: Int64, message: String
    ) throws {
        let world = AuthorityWorld()
        var device = Device(1)
        device.next = TransactionNumber(5)
        let transaction = try device.number([delete("user", 1)])
        device.acknowledged = TransactionNumber(acknowledged)
        let failure = #expect(throws: AuthorityError.self) {
            try world.response(device.request([transaction]), by: device.principal)
        }
        #expect(failure?.message == message)
    }

    @Test func `a push beyond the limits fails before anything is applied`() throws {
        var policy = AuthorityPolicy()
        policy.limits = ServerLimits(pushBytes: 1_000, pushTransactions: 3, pageRows: 10)
        let world = AuthorityWorld(policy: policy)
        var device = Device(1)
        let many = try numbered(&device, 4)
        let tooMany = #expect(throws: AuthorityError.self) {
            try world.response(device.request(many), by: device.principal)
        }
        #expect(tooMany?.code == .tooLarge)
        var other = Device(2)
        let heavy = try (0..<2).map { index in
            try other.number([
                create(
                    "user", UInt64(index), ["username": .text("a"), "bio": .text(String(repeating: "x", count: 500))])
            ])
        }
        let tooHeavy = #expect(throws: AuthorityError.self) {
            try world.response(other.request(heavy), by: other.principal)
        }
        #expect(tooHeavy?.code == .tooLarge)
        #expect(try world.head() == .zero)
    }

    @Test func `a single transaction that is too large is rejected and does not block later ones`() throws {
        var policy = AuthorityPolicy()
        policy.limits = ServerLimits(pushBytes: 300, pushTransactions: 3, pageRows: 10)
        let world = AuthorityWorld(policy: policy)
        var device = Device(1)
        let bio = FieldValue.text(String(repeating: "x", count: 500))
        #expect(
            try world.push(&device, create("user", 1, ["username": .text("a"), "bio": bio])).rejection == .tooLarge)
        #expect(try world.push(&device, create("user", 2, ["username": .text("b")])).version == Version(1))
    }

    @Test func `a write without permission is rejected with an outcome`() throws {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([
            .init(principals: .everyone, spaces: .only([.default]), access: .read),
            .init(principals: .only([Principal(name: "ben")]), spaces: .only([.default]), access: .readAndWrite),
        ])
        let world = AuthorityWorld(policy: policy)
        var anna = Device(1, principal: "anna")
        var ben = Device(2, principal: "ben")
        #expect(try world.push(&anna, create("user", 1, ["username": .text("a")])).rejection == .forbidden)
        #expect(try world.push(&ben, create("user", 1, ["username": .text("a")])).version == Version(1))
        #expect(try world.push(&ben, create("user", 2, ["username": .text("a")]), in: "other").rejection == .forbidden)
    }

    @Test
    func `the server's clock follows clients within the permitted skew, and goes back only if it was ahead`()
        throws
    {
        let world = AuthorityWorld()
        var device = Device(1)
        func serverTime(after mutation: Mutation, now: WallTime = AuthorityWorld.now) throws -> HybridTime {
            let request = device.request([try device.number([mutation])])
            let response = try world.response(request, by: device.principal, now: now)
            guard case .answered(_, _, let time) = response else {
                Issue.record("the push was refused: \(response)")
                return .zero
            }
            return time
        }
        let first = try serverTime(after: create("user", 1, at: 1_000, ["username": .text("a")]))
        #expect(first > time(1_000))
        let second = try serverTime(after: update("user", 1, at: 1 << 40, "bio", .text("x")))
        #expect(second > first)
        #expect(second.wall <= AuthorityWorld.now.advanced(by: .seconds(61)))
        let earlier = WallTime(milliseconds: AuthorityWorld.now.milliseconds - 30_000)
        let third = try serverTime(after: update("user", 1, "bio", .text("y")), now: AuthorityWorld.now)
        #expect(third > second)
        let corrected = try serverTime(
            after: delete("user", 1), now: WallTime(milliseconds: earlier.milliseconds - 120_000))
        #expect(corrected < first, "the server's wall clock was ahead, and has been set right")
        #expect(try world.authority.hello(for: device.principal, now: AuthorityWorld.now).serverTime > corrected)
    }

    @Test func `a device with a wrong clock does not advance the server's clock`() throws {
        let world = AuthorityWorld()
        let device = Device(1)
        let transaction = Transaction(
            space: .default, mutations: [create("user", 1, at: 365 * 86_400_000, ["username": .text("a")])])
        let numbered = NumberedTransaction(
            number: device.next, hash: try PayloadHash(of: transaction), transaction: transaction, age: .seconds(1))
        guard
            case .answered(let results, _, let told) = try world.response(
                device.request([numbered]), by: device.principal)
        else {
            Issue.record("the push was refused")
            return
        }
        #expect(results.first?.outcome.version == Version(1))
        #expect(told.wall == AuthorityWorld.now)
        #expect(try world.authority.hello(for: device.principal, now: AuthorityWorld.now).serverTime.wall == told.wall)
    }

    /// A device can claim any age. The sums of it and of the server's times must not overflow.
    @Test(arguments: [AuthorityWorld.now.milliseconds, 5, -3_600_000])
    func `a push with the greatest possible age is applied`(now: Int64) throws {
        let world = AuthorityWorld()
        let device = Device(1)
        let transaction = Transaction(
            space: .default, mutations: [create("user", 1, at: 365 * 86_400_000, ["username": .text("a")])])
        let numbered = NumberedTransaction(
            number: device.next, hash: try PayloadHash(of: transaction), transaction: transaction,
            age: .milliseconds(Int64.max) + .milliseconds(5))
        let response = try world.response(
            device.request([numbered]), by: device.principal, now: WallTime(milliseconds: now))
        guard case .answered(let results, _, _) = response else {
            Issue.record("the push was refused")
            return
        }
        #expect(results.first?.outcome.version == Version(1))
    }

    @Test func `a later edit from a fast device wins even if the server's clock goes back`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let now = AuthorityWorld.now
        let hour: Int64 = 3_600_000
        try world.push(&device, create("user", 1, at: hour, ["username": .text("ann")]), now: now)
        try world.push(&device, update("user", 1, at: hour + 1, "bio", .text("a")), now: now)
        let back = WallTime(milliseconds: now.milliseconds - 5_000)
        try world.push(&device, update("user", 1, at: hour + 2, "bio", .text("ab")), now: back)
        #expect(try world.value("user", 1, "bio") == .text("ab"))
    }

    @Test func `a push announces its newest version, and a rejected push announces nothing`() async throws {
        let world = AuthorityWorld()
        let announcements = world.authority.commits.subscribe()
        var device = Device(1)
        try world.push(&device, delete("user", 1))
        let batch = try [
            device.number([create("user", 1, ["username": .text("a")])]),
            device.number([update("user", 1, "bio", .text("x"))]),
        ]
        _ = try world.response(device.request(batch), by: device.principal)
        world.authority.commits.finish()
        var received: [SpaceHeads] = []
        for await heads in announcements { received.append(heads) }
        #expect(received == [SpaceHeads(heads: [.default: Version(2)])])
    }

    @Test(arguments: [1, 2, 100])
    func `a store failure at any step leaves no partial transaction, and a repeated push completes the batch`(
        group: Int
    ) async throws {
        var policy = AuthorityPolicy()
        policy.transactionsPerWrite = group
        var n = 0
        while true {
            let world = AuthorityWorld(policy: policy)
            var other = Device(2)
            try world.push(&other, create("user", 1, ["username": .text("a")]))
            var device = Device(1)
            let batch = try [
                device.number([
                    create("avatar", 2, ["url": .text("x"), "author": .reference(id(1))]),
                    update("user", 1, at: 9, "avatar", .reference(id(2)), seen: Version(1)),
                ]),
                device.number([delete("user", 77)]),
                device.number([update("user", 1, at: 3, "username", .text("b"), seen: .zero)]),
            ]
            let announcements = world.authority.commits.subscribe()
            world.store.arm(after: n)
            let response = Result { try world.response(device.request(batch), by: device.principal) }
            let hasFailed = world.store.hasFailed
            world.store.disarm()
            let head = try world.head().rawValue
            switch response {
            case .failure(let error as AuthorityError):
                #expect(error.code == .unavailable)
                #expect(head == 1, "call \(n): nothing has happened")
                #expect(try world.fetch("avatar", .id(id(2))) == nil)
            case .failure(let error): throw error
            case .success(let response):
                let answered = try outcomes(response)
                #expect(hasFailed == (answered.count < batch.count), "call \(n)")
                #expect(head == answered.compactMap(\.outcome.version?.rawValue).max() ?? 1, "call \(n)")
            }
            // Only what is durable is announced.
            world.authority.commits.finish()
            var announced: Version?
            for await heads in announcements { announced = heads.heads[.default] }
            #expect(announced == (head > 1 ? Version(head) : nil), "call \(n)")
            let completed = try outcomes(world.response(device.request(batch), by: device.principal))
            #expect(completed.map(\.outcome.version) == [Version(2), nil, Version(3)], "call \(n)")
            #expect(completed[0].outcome.uids.map(\.uid) == [UID(0)])
            #expect(try world.head() == Version(3), "call \(n)")
            if !hasFailed { break }
            n += 1
        }
        #expect(n > 20, "every call of the store has failed once")
    }

    @Test func `a repeated push gets the response that was lost after the commit`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let batch = try numbered(&device, 2)
        world.store.loseNextResponse()
        #expect(throws: AuthorityError.self) { try world.response(device.request(batch), by: device.principal) }
        #expect(try world.head() == Version(2))
        let again = try outcomes(world.response(device.request(batch), by: device.principal))
        #expect(again.map(\.outcome.version) == [Version(1), Version(2)])
        #expect(try world.head() == Version(2))
    }
}

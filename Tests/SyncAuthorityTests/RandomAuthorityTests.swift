import SyncAuthority
import SyncModel
import SyncSimulation
import SyncTestKit
import SyncWire
import TestRings
import Testing

/// Compares the authority with a naive server under random transactions from several clients, store failures, and late
/// repeats.
@Suite struct RandomAuthorityTests {
    @Test(.ring(.test), arguments: TestRing.sample(0..<8, 0..<40) as Range<UInt64>)
    func `the server holds the same data as a naive server for any transactions`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, stream: "authority")
        var policy = AuthorityPolicy()
        policy.transactionsPerWrite = random.within(1...4)
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = AuthorityWorld(policy: policy)
        var naive = NaiveServer(catalog: AuthorityWorld.catalog)
        var devices = (1...4).map { Device($0, principal: $0 == 4 ? "eve" : "anna") }
        var answered: [[Int64: Outcome]] = Array(repeating: [:], count: devices.count)
        var mirror = Mirror()
        var now = AuthorityWorld.now

        for _ in 0..<60 {
            now = now.advanced(by: .milliseconds(random.below(5)))
            let index = random.below(devices.count)
            var batch: [NumberedTransaction] = []
            for _ in 0..<random.within(1...3) {
                let mutations = (0..<random.within(1...4)).map { _ in
                    Self.mutation(&random, head: naive.heads[.default] ?? .zero)
                }
                batch.append(try devices[index].number(mutations, in: random.below(8) == 0 ? "other" : .default))
            }
            var expected: [NaiveServer.Response] = []
            let latest = now.advanced(by: policy.permittedSkew)
            for numbered in batch {
                expected.append(
                    naive.push(numbered.transaction, by: devices[index].identity.client, latest: latest))
            }
            let results = try push(batch, devices[index], world, now: now, &random)
            #expect(results.map(\.number) == batch.map(\.number))
            #expect(results.map { Self.response($0.outcome) } == expected, "seed \(seed): \(results)")
            for result in results { answered[index][result.number.rawValue] = result.outcome }

            // A late repeat of transactions that were not acknowledged gets the same results.
            if random.below(3) == 0 { devices[index].acknowledged = batch[0].number }
            if random.below(2) == 0 {
                let again = try push(batch, devices[index], world, now: now, &random)
                #expect(again == results)
            }
            if random.below(3) == 0 { try mirror.pull(from: world, limit: random.within(1...9)) }
        }

        for space in [SpaceID.default, "other"] {
            let found = try world.liveRecords(in: space)
            let wanted = naive.rows.filter { !$0.value.isDeleted && $0.value.space == space }
            #expect(found.count == wanted.count, "seed \(seed)")
            for (key, row) in wanted {
                let address = key
                let fields = AuthorityWorld.catalog[key.collection]?.fields ?? []
                let record = found[address]
                #expect(record?.uid == row.uid)
                #expect(record?.values == fields.map { row.cells[$0.name]?.value ?? .null }, "seed \(seed): \(address)")
                #expect(
                    fields.indices.map { record?.version(ofFieldAt: $0) } == fields.map { row.cells[$0.name]?.version },
                    "seed \(seed): \(address)")
            }
            let head = naive.heads[space] ?? .zero
            #expect(try world.head(of: space) == head)
        }
        try mirror.pullAll(from: world, limit: 5)
        #expect(try mirror.records == world.liveRecords(), "seed \(seed)")
        var fresh = Mirror(cursor: try world.cursor(0))
        try fresh.pullAll(from: world, limit: 3)
        #expect(try fresh.records == world.liveRecords(), "seed \(seed)")
        checkUniqueUIDs(naive)
    }

    /// With few values in one record, devices often set a value again that they have not seen, create the record again,
    /// and change it with an older clock.
    @Test(.ring(.test), arguments: TestRing.sample(0..<64, 0..<1_000) as Range<UInt64>)
    func `changes of one record give the same values and conflicts as in a naive server`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, stream: "one record")
        let world = AuthorityWorld()
        var naive = NaiveServer(catalog: AuthorityWorld.catalog)
        var devices = (1...3).map { Device($0) }
        func value(_ field: FieldName) -> FieldValue {
            let number = random.below(3)
            return number == 0 ? .null : field == "rank" ? .integer(Int64(number)) : .text("t\(number)")
        }
        let fields: [FieldName] = ["bio", "rank", "nickname"]
        for _ in 0..<30 {
            let time = HybridTime(
                wall: AuthorityWorld.now.advanced(by: .milliseconds(random.below(40))), counter: 0)
            let seen = Version(Int64(random.below(Int((naive.heads[.default] ?? .zero).rawValue) + 2)))
            let intent: Mutation.Intent
            switch random.below(12) {
            case 0..<3:
                var patch: Patch = ["username": .text("u")]
                for field in fields where random.below(2) == 0 { patch.set(field, to: value(field)) }
                intent = .create(patch)
            case 3 where random.below(4) == 0:
                intent = .delete(seen: seen, unshown: random.below(3) == 0 ? ["nickname", "rank"] : [])
            default:
                let field = fields[random.below(fields.count)]
                intent = .update([FieldEdit(field: field, value: value(field), before: .null, seen: seen)])
            }
            let mutation = Mutation(collection: "user", record: id(1), time: time, intent: intent)
            let index = random.below(devices.count)
            let wanted = naive.push(
                Transaction(space: .default, mutations: [mutation]), by: devices[index].identity.client,
                latest: AuthorityWorld.now.advanced(by: SchemaLimits.permittedSkew))
            let outcome = try world.push(&devices[index], mutation)
            #expect(Self.response(outcome) == wanted, "seed \(seed): \(mutation)")
            for field in fields {
                let expected = naive.rows[RecordAddress("user", id(1))].flatMap {
                    $0.isDeleted ? nil : $0.cells[field]?.value
                }
                #expect(try world.value("user", 1, field) == expected, "seed \(seed): \(field) after \(mutation)")
            }
        }
    }

    /// Pushes like a client until every transaction has a result, with a store that sometimes fails.
    private func push(
        _ batch: [NumberedTransaction], _ device: Device, _ world: AuthorityWorld, now: WallTime,
        _ random: inout SeededRandom
    ) throws -> [TransactionResult] {
        var results: [TransactionResult] = []
        while results.count < batch.count {
            switch random.below(6) {
            case 0: world.store.arm(after: random.below(30))
            case 1: world.store.loseNextResponse()
            default: world.store.disarm()
            }
            defer { world.store.disarm() }
            let rest = Array(batch.dropFirst(results.count))
            guard let response = try? world.response(device.request(rest), by: device.principal, now: now) else {
                continue
            }
            guard case .answered(let more, _, _) = response else {
                Issue.record("\(response)")
                throw AuthorityWorld.Unexpected()
            }
            results += more
        }
        return results
    }

    private func checkUniqueUIDs(_ naive: NaiveServer) {
        for model in AuthorityWorld.catalog.models {
            let uids = naive.rows.filter { $0.key.collection == model.collection }.map(\.value.uid)
            #expect(Set(uids).count == uids.count)
            #expect(uids.allSatisfy { $0.isValid })
        }
    }

    private static func response(_ outcome: Outcome) -> NaiveServer.Response {
        switch outcome {
        case .applied(let version, let uids, let conflicts):
            .applied(version, uids: uids.map(\.uid), conflicts: conflicts.count)
        case .rejected: .rejected
        }
    }

    static func mutation(_ random: inout SeededRandom, head: Version) -> Mutation {
        let collection: CollectionName = random.below(3) == 0 ? "avatar" : "user"
        let number = UInt64(random.below(8))
        let when = HybridTime(
            wall: AuthorityWorld.now.advanced(by: .milliseconds(random.below(40) == 0 ? 1 << 34 : random.below(200))),
            counter: UInt16(random.below(3)))
        let intent: Mutation.Intent
        switch random.below(10) {
        case 0..<4:
            var patch: Patch = collection == "user" ? ["username": .text("u")] : ["url": .text("x")]
            if collection == "avatar" { patch.set("author", to: .reference(id(UInt64(random.below(8))))) }
            if collection == "user", random.below(3) == 0 {
                patch.set("avatar", to: .reference(id(UInt64(random.below(8)))))
            }
            if random.below(20) == 0 { patch.remove(collection == "user" ? "username" : "url") }
            intent = .create(patch)
        case 4..<9:
            intent = .update(
                (0..<random.within(0...3)).map { _ in edit(collection, &random, head: head) })
        default: intent = .delete(seen: head)
        }
        return Mutation(collection: collection, record: id(number), time: when, intent: intent)
    }

    private static func edit(
        _ collection: CollectionName, _ random: inout SeededRandom, head: Version
    ) -> FieldEdit {
        let seen = Version(Int64(random.below(Int(head.rawValue) + 2)))
        let text = FieldValue.text("t\(random.below(3))")
        let reference = FieldValue.reference(id(UInt64(random.below(8))))
        let (field, value): (FieldName, FieldValue) =
            switch (collection, random.below(5)) {
            case ("user", 0): ("username", text)
            case ("user", 1): ("bio", random.below(4) == 0 ? .null : text)
            case ("user", 2): ("rank", .integer(Int64(random.below(3))))
            case ("user", 3): ("nickname", text)
            case ("user", _): ("avatar", random.below(3) == 0 ? .null : reference)
            case (_, 0), (_, 1): ("author", reference)
            default: ("url", text)
            }
        return FieldEdit(field: field, value: value, before: .null, seen: seen)
    }
}

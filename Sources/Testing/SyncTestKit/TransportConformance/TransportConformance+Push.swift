import SyncCore
import SyncModel
import SyncWire

extension TransportConformance {
    var helloChecks: [Check] {
        [
            Check("hello returns the version, the history and the limits, the same each time") { world in
                let again = try await world.transport.hello()
                try world.expect(
                    world.hello.protocolVersions.contains(ProtocolVersion.current),
                    "versions \(world.hello.protocolVersions); expected \(ProtocolVersion.current) among them")
                try world.expect(!world.hello.epoch.rawValue.isEmpty, "the epoch is empty")
                try world.expect(again.epoch == world.hello.epoch, "epoch \(again.epoch) after \(world.hello.epoch)")
                try world.expect(again.limits == world.hello.limits, "other limits at the second time")
                try world.expect(again.serverTime >= world.hello.serverTime, "the server's time went back")
            }
        ]
    }

    var pushChecks: [Check] {
        [
            Check("a push takes effect, and a repeat gets the original outcome") { world in
                let client = world.makeClient()
                let record = world.makeRecord()
                let request = try world.request(client, [world.create(record)])
                let outcome = try await world.push(request)
                guard case .applied(let version, let uids, _) = outcome[0] else {
                    throw world.violation("\(outcome[0]); expected applied")
                }
                try world.expect(
                    uids.map(\.record) == [record] && uids.allSatisfy(\.uid.isValid),
                    "uids \(uids); expected one for \(record)")
                try world.expect(version > .zero, "version \(version); expected 1 or more")
                // Another commit advances the space, so that a server which decides the repeat again would return
                // another version.
                _ = try await world.apply(world.makeClient(), [world.create(world.makeRecord())])
                let repeated = try await world.push(request)
                try world.expect(repeated == outcome, "\(repeated) at the second time; expected \(outcome)")
                let shown = try await world.fetch(record)
                try world.expect(
                    shown?.uid == uids[0].uid && shown?.version == version,
                    "the record has uid \(shown?.uid.description ?? "none"), the outcome says \(uids[0].uid)")
            },
            Check("after a lost response, the same numbers with more behind them take effect once") { world in
                let client = world.makeClient()
                let records = (0..<3).map { _ in world.makeRecord() }
                let creates = records.enumerated().map { world.create($1, $0) }
                let first = try await world.push(world.request(client, Array(creates[..<2])))
                let all = try await world.push(world.request(client, creates))
                try world.expect(Array(all[..<2]) == first, "\(all) does not begin with \(first)")
                let versions = try all.map(world.version)
                try world.expect(
                    versions[0] < versions[1] && versions[1] < versions[2], "versions \(versions); expected rising ones"
                )
            },
            Check("a gap in the numbers is refused, with the number that is expected") { world in
                let client = world.makeClient()
                let record = world.makeRecord()
                var refusal = try await world.refusal(world.request(client, [world.create(record)], from: 3))
                try world.expect(refusal == .gap(expected: .first), "\(refusal); expected a gap before 0")
                _ = try await world.apply(client, [world.create(record)])
                refusal = try await world.refusal(
                    world.request(client, [world.create(world.makeRecord())], from: 2))
                try world.expect(
                    refusal == .gap(expected: TransactionNumber(1)), "\(refusal); expected a gap before 1")
            },
            Check("a number with other contents is an identity conflict, and changes nothing") { world in
                let client = world.makeClient()
                let record = world.makeRecord()
                let other = world.makeRecord()
                _ = try await world.apply(client, [world.create(record)])
                let refusal = try await world.refusal(world.request(client, [world.create(other)]))
                try world.expect(
                    refusal == .identityConflict(number: .first), "\(refusal); expected an identity conflict at 0")
                try world.expect(try await world.fetch(other) == nil, "the second contents took effect")
                _ = try await world.apply(client.next, [world.create(other)])
                try world.expect(try await world.fetch(other) != nil, "the next incarnation cannot write")
            },
            Check("a push to another history is refused, with the current epoch") { world in
                let request = try world.request(
                    world.makeClient(), [world.create(world.makeRecord())], epoch: Epoch(rawValue: "another-history"))
                let refusal = try await world.refusal(request)
                try world.expect(
                    refusal == .epochChanged(world.hello.epoch), "\(refusal); expected a change to \(world.hello.epoch)"
                )
            },
            Check("a rejected transaction has no effect, keeps its outcome, and does not stop what follows") { world in
                let client = world.makeClient()
                let record = world.makeRecord()
                let bad = world.transaction(
                    world.makeRecord(), .create(["a_field_that_is_in_no_schema": .text("x")]))
                let request = try world.request(client, [bad, world.create(record)])
                let outcomes = try await world.push(request)
                guard case .rejected(let rejection) = outcomes[0] else {
                    throw world.violation("\(outcomes[0]); expected rejected")
                }
                try world.expect(
                    rejection.code == .unknownField, "code \(rejection.code); expected \(RejectionCode.unknownField)")
                _ = try world.version(of: outcomes[1])
                let repeated = try await world.push(request)
                try world.expect(repeated == outcomes, "other outcomes at the second time")
                try world.expect(
                    try await world.fetch(bad.mutations[0].record) == nil, "the rejected record exists")
            },
            Check("mutations of one transaction take effect together or not at all") { world in
                let record = world.makeRecord()
                let good = world.create(record).mutations
                let bad = world.transaction(world.makeRecord(), .update([])).mutations
                let transaction = Transaction(space: world.subject.space, mutations: good + bad)
                let outcomes = try await world.push(world.request(world.makeClient(), [transaction]))
                guard case .rejected = outcomes[0] else { throw world.violation("\(outcomes[0]); expected rejected") }
                try world.expect(try await world.fetch(record) == nil, "half of the transaction took effect")
            },
            Check("of two concurrent edits, one wins and the other is reported") { world in
                let record = world.makeRecord()
                let one = world.makeClient()
                let other = world.makeClient()
                let seen = try await world.apply(one, [world.create(record)])[0]
                _ = try await world.apply(one, [world.update(record, to: "by one", seen: seen)], from: 1)
                let outcome = try await world.push(
                    world.request(other, [world.update(record, to: "by the other", seen: seen)]))[0]
                guard case .applied(_, _, let conflicts) = outcome else {
                    throw world.violation("\(outcome); expected applied")
                }
                try world.expect(
                    conflicts.map(\.field) == [world.subject.textField], "conflicts \(conflicts); expected one")
                let texts = conflicts.flatMap { [$0.winner.value, $0.loser.value] }
                try world.expect(
                    Set(texts) == [.text("by one"), .text("by the other")], "\(texts); expected both values")
            },
            Check("more transactions than the server takes are too large") { world in
                let count = world.hello.limits.pushTransactions + 1
                let transaction = world.delete(world.makeRecord(), seen: .zero)
                let request = try world.request(world.makeClient(), Array(repeating: transaction, count: count))
                let failure = try await world.failure("a push of \(count) transactions") {
                    () throws(TransportError) in
                    try await world.transport.push(request)
                }
                try world.expect(failure.code == .tooLarge, "\(failure.code): \(failure); expected too large")
            },
        ]
    }
}

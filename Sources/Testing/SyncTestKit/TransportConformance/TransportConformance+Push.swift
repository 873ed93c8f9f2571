import SyncCore
import SyncModel
import SyncWire

extension TransportConformance {
    var helloChecks: [Check] {
        [
            Check("hello returns the version, the history and the limits, the same each time") { fixture in
                let again = try await fixture.transport.hello()
                try fixture.expect(
                    fixture.hello.protocolVersions.contains(ProtocolVersion.current),
                    "versions \(fixture.hello.protocolVersions); expected \(ProtocolVersion.current) among them")
                try fixture.expect(!fixture.hello.epoch.rawValue.isEmpty, "the epoch is empty")
                try fixture.expect(
                    again.epoch == fixture.hello.epoch, "epoch \(again.epoch) after \(fixture.hello.epoch)")
                try fixture.expect(again.limits == fixture.hello.limits, "the second hello has other limits")
                try fixture.expect(again.serverTime >= fixture.hello.serverTime, "the server's time went back")
            }
        ]
    }

    var pushChecks: [Check] {
        [
            Check("a push takes effect, and a repeat gets the original outcome") { fixture in
                let client = fixture.makeClient()
                let record = fixture.makeRecord()
                let request = try fixture.request(client, [fixture.create(record)])
                let outcome = try await fixture.push(request)
                guard case .applied(let version, let uids, _) = outcome[0] else {
                    throw fixture.violation("\(outcome[0]); expected applied")
                }
                try fixture.expect(
                    uids.map(\.record) == [record] && uids.allSatisfy(\.uid.isValid),
                    "uids \(uids); expected one for \(record)")
                try fixture.expect(version > .zero, "version \(version); expected 1 or more")
                // Another commit advances the space, so that a server which decides the repeat again would return
                // another version.
                _ = try await fixture.apply(fixture.makeClient(), [fixture.create(fixture.makeRecord())])
                let repeated = try await fixture.push(request)
                try fixture.expect(repeated == outcome, "\(repeated) the second time; expected \(outcome)")
                let shown = try await fixture.fetch(record)
                try fixture.expect(
                    shown?.uid == uids[0].uid && shown?.version == version,
                    "the record has uid \(shown?.uid.description ?? "none"), the outcome says \(uids[0].uid)")
            },
            Check("after a lost response, a push of the same numbers and one more takes effect once") { fixture in
                let client = fixture.makeClient()
                let records = (0..<3).map { _ in fixture.makeRecord() }
                let creates = records.enumerated().map { fixture.create($1, $0) }
                let first = try await fixture.push(fixture.request(client, Array(creates[..<2])))
                let all = try await fixture.push(fixture.request(client, creates))
                try fixture.expect(Array(all[..<2]) == first, "\(all) does not begin with \(first)")
                let versions = try all.map(fixture.version)
                try fixture.expect(
                    versions[0] < versions[1] && versions[1] < versions[2], "versions \(versions); expected rising ones"
                )
            },
            Check("a gap in the numbers is refused, with the number that is expected") { fixture in
                let client = fixture.makeClient()
                let record = fixture.makeRecord()
                var refusal = try await fixture.refusal(fixture.request(client, [fixture.create(record)], from: 3))
                try fixture.expect(refusal == .gap(expected: .first), "\(refusal); expected a gap at 0")
                _ = try await fixture.apply(client, [fixture.create(record)])
                refusal = try await fixture.refusal(
                    fixture.request(client, [fixture.create(fixture.makeRecord())], from: 2))
                try fixture.expect(
                    refusal == .gap(expected: TransactionNumber(1)), "\(refusal); expected a gap at 1")
            },
            Check("a number with other contents is an identity conflict, and changes nothing") { fixture in
                let client = fixture.makeClient()
                let record = fixture.makeRecord()
                let other = fixture.makeRecord()
                _ = try await fixture.apply(client, [fixture.create(record)])
                let refusal = try await fixture.refusal(fixture.request(client, [fixture.create(other)]))
                try fixture.expect(
                    refusal == .identityConflict(number: .first), "\(refusal); expected an identity conflict at 0")
                try fixture.expect(try await fixture.fetch(other) == nil, "the second contents took effect")
                _ = try await fixture.apply(client.next, [fixture.create(other)])
                try fixture.expect(try await fixture.fetch(other) != nil, "the next incarnation cannot write")
            },
            Check("a push to another history is refused, with the current epoch") { fixture in
                let request = try fixture.request(
                    fixture.makeClient(), [fixture.create(fixture.makeRecord())],
                    epoch: Epoch(rawValue: "another-history"))
                let refusal = try await fixture.refusal(request)
                try fixture.expect(
                    refusal == .epochChanged(fixture.hello.epoch),
                    "\(refusal); expected a change to \(fixture.hello.epoch)"
                )
            },
            Check("a rejected transaction has no effect, keeps its outcome, and does not stop what follows") {
                fixture in
                let client = fixture.makeClient()
                let record = fixture.makeRecord()
                let bad = fixture.transaction(
                    fixture.makeRecord(), .create(["a_field_that_is_in_no_schema": .text("x")]))
                let request = try fixture.request(client, [bad, fixture.create(record)])
                let outcomes = try await fixture.push(request)
                guard case .rejected(let rejection) = outcomes[0] else {
                    throw fixture.violation("\(outcomes[0]); expected rejected")
                }
                try fixture.expect(
                    rejection.code == .unknownField, "code \(rejection.code); expected \(RejectionCode.unknownField)")
                _ = try fixture.version(of: outcomes[1])
                let repeated = try await fixture.push(request)
                try fixture.expect(repeated == outcomes, "the second push has other outcomes")
                try fixture.expect(
                    try await fixture.fetch(bad.mutations[0].record) == nil, "the rejected record exists")
            },
            Check("mutations of one transaction take effect together or not at all") { fixture in
                let record = fixture.makeRecord()
                let good = fixture.create(record).mutations
                let bad = fixture.transaction(fixture.makeRecord(), .update([])).mutations
                let transaction = Transaction(space: fixture.subject.space, mutations: good + bad)
                let outcomes = try await fixture.push(fixture.request(fixture.makeClient(), [transaction]))
                guard case .rejected = outcomes[0] else { throw fixture.violation("\(outcomes[0]); expected rejected") }
                try fixture.expect(try await fixture.fetch(record) == nil, "half of the transaction took effect")
            },
            Check("one of two concurrent edits wins, and the other is reported") { fixture in
                let record = fixture.makeRecord()
                let one = fixture.makeClient()
                let other = fixture.makeClient()
                let seen = try await fixture.apply(one, [fixture.create(record)])[0]
                _ = try await fixture.apply(one, [fixture.update(record, to: "by one", seen: seen)], from: 1)
                let outcome = try await fixture.push(
                    fixture.request(other, [fixture.update(record, to: "by the other", seen: seen)]))[0]
                guard case .applied(_, _, let conflicts) = outcome else {
                    throw fixture.violation("\(outcome); expected applied")
                }
                try fixture.expect(
                    conflicts.map(\.field) == [fixture.subject.textField], "conflicts \(conflicts); expected one")
                let texts = conflicts.flatMap { [$0.winner.value, $0.loser.value] }
                try fixture.expect(
                    Set(texts) == [.text("by one"), .text("by the other")], "\(texts); expected both values")
            },
            Check("a push of more transactions than the server allows is too large") { fixture in
                let count = fixture.hello.limits.pushTransactions + 1
                let transaction = fixture.delete(fixture.makeRecord(), seen: .zero)
                let request = try fixture.request(fixture.makeClient(), Array(repeating: transaction, count: count))
                let failure = try await fixture.failure("a push of \(count) transactions") {
                    () throws(TransportError) in
                    try await fixture.transport.push(request)
                }
                try fixture.expect(failure.code == .tooLarge, "\(failure.code): \(failure); expected too large")
            },
        ]
    }
}

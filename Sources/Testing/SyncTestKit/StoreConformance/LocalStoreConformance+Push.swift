import SyncCore
import SyncModel

// Pushes to the server, and its responses.
extension LocalStoreConformance {
    var pushChecks: [Check] {
        [
            Check("batches are numbered from 0 without gaps, and repeated as they were") { fixture in
                try fixture.expect(
                    try fixture.store.takeBatch(BatchLimit(transactions: 9, bytes: 9), now: fixture.now()) == nil,
                    "an empty batch")
                for name in ["a", "b", "c"] { _ = try fixture.createUser(name) }
                let first = try fixture.push(BatchLimit(transactions: 2, bytes: 1_000_000))
                try fixture.expect(
                    first.transactions.map(\.number.rawValue), is: [0, 1], "the numbers of the first batch")
                try fixture.expect(first.outbox.sent, is: 2, "the count of sent entries")
                let again = try fixture.push()
                try fixture.expect(
                    again.transactions.map(\.number.rawValue), is: [0, 1, 2], "the numbers of the second")
                try fixture.expect(
                    again.transactions.prefix(2).map(\.hash), is: first.transactions.map(\.hash),
                    "the repeated transactions")
                try fixture.expect(again.acknowledged, is: .first, "the acknowledged number")
            },
            Check("a transaction larger than the limit is given, alone") { fixture in
                for name in ["a", "b"] { _ = try fixture.createUser(name) }
                let batch = try fixture.push(BatchLimit(transactions: 10, bytes: 1))
                try fixture.expect(batch.transactions.map(\.number.rawValue), is: [0], "the numbers")
            },
            Check("an applied transaction keeps its record's uid, and waits for the page") { fixture in
                try fixture.sendHello()
                let (id, sequence) = try fixture.createUser("ada")
                _ = try fixture.push()
                let uid = AssignedUID(collection: "users", record: id, uid: UID(40))
                let summary = try fixture.response(.first, fixture.applied(1, uids: [uid]))
                try fixture.expect(summary.answered, is: 1, "the count of answered entries")
                try fixture.expect(try fixture.user(id)?.uid, is: UID(40), "the uid")
                try fixture.expect(
                    try fixture.store.record("users", .uid(UID(40)))?.id, is: id, "the record by its uid")
                try fixture.expect(
                    try fixture.store.fate(of: sequence), is: .pending(.answered(.first, version: Version(1))),
                    "the fate"
                )
                let batch = try fixture.store.takeBatch(BatchLimit(transactions: 9, bytes: 9_999), now: fixture.now())
                try fixture.expect(batch == nil, "an answered transaction was sent again")

                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(id, uid: 40, "ada"))], to: 1))
                try fixture.expect(try fixture.store.fate(of: sequence), is: .confirmed, "the fate after the page")
                try fixture.expect(try fixture.store.isPending("users", id), is: false, "isPending after the page")
                try fixture.expect(try fixture.store.outboxSummary(), is: OutboxSummary(), "the outbox after the page")
                try fixture.expect(
                    try fixture.user(id), is: fixture.shownUser(id, uid: 40, version: 1, "ada"), "the record")
            },
            Check("the newest receipt is kept, and shown instead of a cursor that has not reached its version") {
                fixture in
                try fixture.sendHello()
                func receipt(_ version: Int64) -> CommitReceipt {
                    CommitReceipt(
                        space: fixture.space, version: Version(version), cursor: Cursor(rawValue: "receipt-\(version)"))
                }
                func response(_ number: Int64, _ version: Int64) throws {
                    _ = try fixture.store.record(
                        [
                            TransactionResult(
                                number: TransactionNumber(number), outcome: fixture.applied(version),
                                receipt: receipt(version))
                        ], of: fixture.store.session().identity, now: fixture.now())
                }
                let users = try (1...3).map { try fixture.createUser("u\($0)").0 }
                _ = try fixture.push()
                try response(0, 1)
                try fixture.expect(try fixture.stored()?.receipt, is: receipt(1), "the first receipt")
                try response(1, 2)
                try fixture.expect(try fixture.stored()?.receipt, is: receipt(2), "the newer receipt")
                try fixture.expect(try fixture.push().cursors, is: [receipt(2).cursor], "what a push shows")
                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(users[0], uid: 0, "u1"))], to: 1, head: 2))
                try fixture.expect(try fixture.stored()?.receipt, is: receipt(2), "the receipt at version 1")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.created(users[1], uid: 1, "u2"))], to: 2))
                try fixture.expect(
                    try fixture.stored()?.receipt, is: receipt(2), "the receipt once the cursor is there")
                let shown = try fixture.stored()?.cursor
                try fixture.expect(
                    try fixture.push().cursors, is: [shown, receipt(2).cursor].compactMap(\.self),
                    "what a push shows then")
                try fixture.pull(fixture.feed([fixture.at(3, fixture.created(users[2], uid: 2, "u3"))], to: 3))
                try response(2, 3)
                try fixture.expect(
                    try fixture.stored()?.receipt, is: receipt(3), "a receipt for what the cursor has reached")
            },
            Check("another history forgets the receipts of the previous one; a new cursor does not") { fixture in
                try fixture.sendHello()
                _ = try fixture.createUser("ada")
                _ = try fixture.push()
                let receipt = CommitReceipt(
                    space: fixture.space, version: Version(4), cursor: Cursor(rawValue: "receipt"))
                _ = try fixture.store.record(
                    [TransactionResult(number: .first, outcome: fixture.applied(4), receipt: receipt)],
                    of: fixture.store.session().identity, now: fixture.now())
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.expect(try fixture.stored()?.receipt, is: receipt, "after a reset")
                let owner = try fixture.store.session().account
                _ = try fixture.store.adopt(Epoch(rawValue: "restored"), as: owner ?? AccountID(rawValue: "anna"))
                try fixture.expect(try fixture.stored()?.receipt, is: nil, "after a restore")
                try fixture.expect(try fixture.store.outboxSummary().waiting, is: 1, "what is sent again")
            },
            Check("a response that comes after its page confirms at once") { fixture in
                try fixture.sendHello()
                let (id, sequence) = try fixture.createUser("ada")
                _ = try fixture.push()
                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(id, uid: 40, "ada"))], to: 1))
                try fixture.expect(try fixture.store.isPending("users", id), is: true, "isPending before the response")
                try fixture.response(
                    .first, fixture.applied(1, uids: [AssignedUID(collection: "users", record: id, uid: UID(40))]))
                try fixture.expect(try fixture.store.fate(of: sequence), is: .confirmed, "the fate")
                try fixture.expect(try fixture.store.isPending("users", id), is: false, "isPending")
            },
            Check("late and repeated responses change nothing") { fixture in
                try fixture.sendHello()
                let (id, _) = try fixture.createUser()
                _ = try fixture.push()
                try fixture.response(.first, fixture.applied(1))
                let before = try fixture.store.session()
                try fixture.response(.first, fixture.applied(1))
                try fixture.response(.first, fixture.rejected())
                try fixture.response(TransactionNumber(77), fixture.rejected())
                try fixture.expect(try fixture.store.session(), is: before, "the session")
                try fixture.expect(try fixture.user(id) != nil, "the record is gone")
                try fixture.expect(try fixture.store.journal(state: nil, limit: 9), is: [], "the journal")
            },
            Check("a rejection takes the effect back, and the journal keeps it whole") { fixture in
                let id = try fixture.syncedUser("ada")
                let sequence = try fixture.written(.update("users", id, ["username": .text("eve")]))
                let batch = try fixture.push()
                try fixture.response(.first, fixture.rejected())
                try fixture.expect(try fixture.name(id), is: .text("ada"), "the name")
                try fixture.expect(try fixture.store.isPending("users", id), is: false, "isPending")
                let journal = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(
                    journal.map(\.event),
                    is: [
                        .rejected(
                            batch.transactions[0].transaction,
                            Rejection(code: .forbidden, message: "no", mutation: 0))
                    ], "the journal")
                try fixture.expect(try fixture.store.fate(of: sequence), is: .rejected(journal[0]), "the fate")
                try fixture.expect(
                    try fixture.store.outboxSummary(), is: OutboxSummary(activeJournalEntries: 1), "the summary")
            },
            Check("a rejected delete brings the record back; a rejected create takes it away") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.delete("users", id))
                let (other, _) = try fixture.createUser("eve")
                _ = try fixture.push()
                try fixture.response(TransactionNumber(0), fixture.rejected())
                try fixture.response(TransactionNumber(1), fixture.rejected())
                try fixture.expect(
                    try fixture.user(id), is: fixture.shownUser(id, uid: 7, version: 1, "ada"), "the deleted one")
                try fixture.expect(try fixture.user(other) == nil, "the created one is still there")
            },
            Check(
                "a withdrawn transaction gives its number to an empty one, and goes to the journal with the server's reason"
            ) {
                fixture in
                try fixture.sendHello()
                let (id, sequence) = try fixture.createUser("ada")
                let avatar = try fixture.written(.create("avatars", fixture.id(), ["author": .reference(id)]))
                let (other, _) = try fixture.createUser("bob")
                let first = try fixture.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                let reason = Rejection(code: .tooLarge, message: "more than the server takes", mutation: nil)
                let stranger = ClientIdentity(client: first.identity.client, incarnation: 9)
                _ = try fixture.store.withdraw(.first, of: stranger, because: reason)
                let unchanged = try fixture.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                try fixture.expect(unchanged.isEmptied, is: false, "a withdrawal by another identity")
                _ = try fixture.store.withdraw(.first, of: first.identity, because: reason)
                let again = try fixture.push()
                try fixture.expect(
                    again.isEmptied && again.transactions.count == 1, "expected a single withdrawal, found \(again)")
                try fixture.expect(again.transactions[0].number, is: .first, "the number")
                try fixture.expect(again.transactions[0].transaction.mutations, is: [], "what is sent in its place")
                try fixture.expect(again.transactions[0].hash != first.transactions[0].hash, "the hash is the same")
                // The record stays visible until the server has confirmed that no other transaction will take its
                // number.
                try fixture.expect(try fixture.user(id) != nil, "the record is gone too early")
                try fixture.response(.first, fixture.rejected(.malformed))
                for (sequence, code) in [(sequence, RejectionCode.tooLarge), (avatar, .dependsOnRejected)] {
                    guard case .rejected(let entry) = try fixture.store.fate(of: sequence),
                        case .rejected(_, let rejection) = entry.event
                    else { throw ConformanceViolation(rule: fixture.rule, detail: "\(sequence) was not rejected") }
                    try fixture.expect(rejection.code, is: code, "the code of \(sequence)")
                }
                try fixture.expect(try fixture.user(id) == nil, "the record is still there")
                try fixture.expect(try fixture.user(other) != nil, "the other is gone")
            },
            Check("a new identity sends a withdrawn transaction again") { fixture in
                try fixture.sendHello()
                _ = try fixture.createUser()
                let first = try fixture.push()
                let reason = Rejection(code: .tooLarge, message: "more than the server takes", mutation: nil)
                _ = try fixture.store.withdraw(.first, of: first.identity, because: reason)
                _ = try fixture.store.renewIdentity(as: fixture.anotherClient)
                let again = try fixture.push()
                try fixture.expect(again.isEmptied, is: false, "the withdrawal")
                try fixture.expect(
                    again.transactions.map(\.transaction), is: first.transactions.map(\.transaction), "what is sent")
            },
            Check("a rejected transaction takes its dependants to the journal, and nothing else") { fixture in
                try fixture.sendHello()
                let (user, root) = try fixture.createUser("ada")
                _ = try fixture.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                let rename = try fixture.written(.update("users", user, ["username": .text("eve")]))
                let avatar = fixture.id()
                let refers = try fixture.written(.create("avatars", avatar, ["author": .reference(user)]))
                let indirect = try fixture.written(.update("avatars", avatar, ["title": .text("t")]))
                let (other, free) = try fixture.createUser("bob")
                try fixture.response(.first, fixture.rejected())
                for sequence in [root, rename, refers, indirect] {
                    guard case .rejected(let entry) = try fixture.store.fate(of: sequence),
                        case .rejected(_, let rejection) = entry.event
                    else { throw ConformanceViolation(rule: fixture.rule, detail: "\(sequence) was not rejected") }
                    let code: RejectionCode = sequence == root ? .forbidden : .dependsOnRejected
                    try fixture.expect(rejection.code, is: code, "the code of \(sequence)")
                }
                try fixture.expect(try fixture.store.fate(of: free), is: .pending(.waiting), "the fate of the other")
                try fixture.expect(try fixture.user(other) != nil, "the other is gone")
                try fixture.expect(try fixture.user(user) == nil, "the rejected user is still there")
                try fixture.expect(try fixture.store.record("avatars", .id(avatar)) == nil, "its avatar is still there")
            },
            Check("dependants that were sent wait for their own response") { fixture in
                let id = try fixture.syncedUser("ada")
                _ = try fixture.written(.update("users", id, ["username": .text("eve")]))
                _ = try fixture.push()
                let second = try fixture.written(.update("users", id, ["age": .integer(4)]))
                _ = try fixture.push()
                try fixture.response(TransactionNumber(0), fixture.rejected())
                try fixture.expect(
                    try fixture.store.fate(of: second), is: .pending(.sent(TransactionNumber(1), attempts: 1)),
                    "the fate"
                )
                try fixture.expect(
                    try fixture.user(id)?.values.prefix(2), is: [.text("ada"), .integer(4)], "the record")
            },
            Check("a merged transaction leaves its conflicts in the journal") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                _ = try fixture.push()
                let stamp = Stamp(
                    time: HybridTime(rawValue: .max), client: ClientID(bits: Identifier128(high: 1, low: 2)))
                let conflict = FieldConflict(
                    collection: "users", record: id, field: "username", base: .text("ada"),
                    winner: Contender(value: .text("zoe"), stamp: stamp),
                    loser: Contender(value: .null, stamp: stamp), rule: .latestEdit)
                try fixture.response(.first, fixture.applied(3, conflicts: [conflict]))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).map(\.event), is: [.merged([conflict])],
                    "the journal"
                )
            },
            Check("a negative uid is refused") { fixture in
                try fixture.sendHello()
                let (id, _) = try fixture.createUser()
                let batch = try fixture.push()
                try fixture.expect(.contradiction) {
                    let uid = AssignedUID(collection: "users", record: id, uid: UID(-5))
                    _ = try fixture.store.record(
                        [TransactionResult(number: .first, outcome: fixture.applied(1, uids: [uid]))],
                        of: batch.identity, now: fixture.now())
                }
                try fixture.expect(try fixture.store.outboxSummary().sent, is: 1, "the count of sent entries")
            },
            Check("an outcome of an earlier incarnation says nothing about the numbers of this one") { fixture in
                try fixture.sendHello()
                _ = try fixture.createUser("one")
                let before = try fixture.push()
                _ = try fixture.store.renewIdentity(as: fixture.anotherClient)
                _ = try fixture.push()
                let summary = try fixture.store.record(
                    [TransactionResult(number: .first, outcome: fixture.applied(1))], of: before.identity,
                    now: fixture.now())
                try fixture.expect(summary.answered, is: 0, "the count of answered entries")
            },
        ]
    }
}

import SyncCore
import SyncModel

// Pushes to the server, and its responses.
extension LocalStoreConformance {
    var pushChecks: [Check] {
        [
            Check("batches are numbered from 0 without gaps, and repeated as they were") { world in
                try world.expect(
                    try world.store.takeBatch(BatchLimit(transactions: 9, bytes: 9), now: world.now()) == nil,
                    "an empty batch")
                for name in ["a", "b", "c"] { _ = try world.createUser(name) }
                let first = try world.push(BatchLimit(transactions: 2, bytes: 1_000_000))
                try world.expect(
                    first.transactions.map(\.number.rawValue), is: [0, 1], "the numbers of the first batch")
                try world.expect(first.outbox.sent, is: 2, "the count of sent entries")
                let again = try world.push()
                try world.expect(again.transactions.map(\.number.rawValue), is: [0, 1, 2], "the numbers of the second")
                try world.expect(
                    again.transactions.prefix(2).map(\.hash), is: first.transactions.map(\.hash),
                    "the repeated transactions")
                try world.expect(again.acknowledged, is: .first, "the acknowledged number")
            },
            Check("a transaction larger than the limit is given, alone") { world in
                for name in ["a", "b"] { _ = try world.createUser(name) }
                let batch = try world.push(BatchLimit(transactions: 10, bytes: 1))
                try world.expect(batch.transactions.map(\.number.rawValue), is: [0], "the numbers")
            },
            Check("an applied transaction keeps its record's uid, and waits for the page") { world in
                try world.sendHello()
                let (id, sequence) = try world.createUser("ada")
                _ = try world.push()
                let uid = AssignedUID(collection: "users", record: id, uid: UID(40))
                let summary = try world.response(.first, world.applied(1, uids: [uid]))
                try world.expect(summary.answered, is: 1, "the count of answered entries")
                try world.expect(try world.user(id)?.uid, is: UID(40), "the uid")
                try world.expect(try world.store.record("users", .uid(UID(40)))?.id, is: id, "the record by its uid")
                try world.expect(
                    try world.store.fate(of: sequence), is: .pending(.answered(.first, version: Version(1))), "the fate"
                )
                let batch = try world.store.takeBatch(BatchLimit(transactions: 9, bytes: 9_999), now: world.now())
                try world.expect(batch == nil, "an answered transaction was sent again")

                try world.pull(world.feed([world.at(1, world.created(id, uid: 40, "ada"))], to: 1))
                try world.expect(try world.store.fate(of: sequence), is: .confirmed, "the fate after the page")
                try world.expect(try world.store.isPending("users", id), is: false, "isPending after the page")
                try world.expect(try world.store.outboxSummary(), is: OutboxSummary(), "the outbox after the page")
                try world.expect(try world.user(id), is: world.shownUser(id, uid: 40, version: 1, "ada"), "the record")
            },
            Check("the newest receipt is kept, and shown instead of a cursor that has not reached its version") {
                world in
                try world.sendHello()
                func receipt(_ version: Int64) -> CommitReceipt {
                    CommitReceipt(
                        space: world.space, version: Version(version), cursor: Cursor(rawValue: "receipt-\(version)"))
                }
                func response(_ number: Int64, _ version: Int64) throws {
                    _ = try world.store.record(
                        [
                            TransactionResult(
                                number: TransactionNumber(number), outcome: world.applied(version),
                                receipt: receipt(version))
                        ], of: world.store.session().identity, now: world.now())
                }
                let users = try (1...3).map { try world.createUser("u\($0)").0 }
                _ = try world.push()
                try response(0, 1)
                try world.expect(try world.stored()?.receipt, is: receipt(1), "the first receipt")
                try response(1, 2)
                try world.expect(try world.stored()?.receipt, is: receipt(2), "the newer receipt")
                try world.expect(try world.push().cursors, is: [receipt(2).cursor], "what a push shows")
                try world.pull(world.feed([world.at(1, world.created(users[0], uid: 0, "u1"))], to: 1, head: 2))
                try world.expect(try world.stored()?.receipt, is: receipt(2), "the receipt at version 1")
                try world.pull(world.feed([world.at(2, world.created(users[1], uid: 1, "u2"))], to: 2))
                try world.expect(try world.stored()?.receipt, is: receipt(2), "the receipt once the cursor is there")
                let shown = try world.stored()?.cursor
                try world.expect(
                    try world.push().cursors, is: [shown, receipt(2).cursor].compactMap(\.self),
                    "what a push shows then")
                try world.pull(world.feed([world.at(3, world.created(users[2], uid: 2, "u3"))], to: 3))
                try response(2, 3)
                try world.expect(
                    try world.stored()?.receipt, is: receipt(3), "a receipt for what the cursor has reached")
            },
            Check("another history forgets the receipts of the previous one; a new cursor does not") { world in
                try world.sendHello()
                _ = try world.createUser("ada")
                _ = try world.push()
                let receipt = CommitReceipt(
                    space: world.space, version: Version(4), cursor: Cursor(rawValue: "receipt"))
                _ = try world.store.record(
                    [TransactionResult(number: .first, outcome: world.applied(4), receipt: receipt)],
                    of: world.store.session().identity, now: world.now())
                try world.store.resetCursor(of: world.space)
                try world.expect(try world.stored()?.receipt, is: receipt, "after a reset")
                let owner = try world.store.session().account
                _ = try world.store.adopt(Epoch(rawValue: "restored"), as: owner ?? AccountID(rawValue: "anna"))
                try world.expect(try world.stored()?.receipt, is: nil, "after a restore")
                try world.expect(try world.store.outboxSummary().waiting, is: 1, "what is sent again")
            },
            Check("a response that comes after its page confirms at once") { world in
                try world.sendHello()
                let (id, sequence) = try world.createUser("ada")
                _ = try world.push()
                try world.pull(world.feed([world.at(1, world.created(id, uid: 40, "ada"))], to: 1))
                try world.expect(try world.store.isPending("users", id), is: true, "isPending before the response")
                try world.response(
                    .first, world.applied(1, uids: [AssignedUID(collection: "users", record: id, uid: UID(40))]))
                try world.expect(try world.store.fate(of: sequence), is: .confirmed, "the fate")
                try world.expect(try world.store.isPending("users", id), is: false, "isPending")
            },
            Check("late and repeated responses change nothing") { world in
                try world.sendHello()
                let (id, _) = try world.createUser()
                _ = try world.push()
                try world.response(.first, world.applied(1))
                let before = try world.store.session()
                try world.response(.first, world.applied(1))
                try world.response(.first, world.rejected())
                try world.response(TransactionNumber(77), world.rejected())
                try world.expect(try world.store.session(), is: before, "the session")
                try world.expect(try world.user(id) != nil, "the record is gone")
                try world.expect(try world.store.journal(state: nil, limit: 9), is: [], "the journal")
            },
            Check("a rejection takes the effect back, and the journal keeps it whole") { world in
                let id = try world.syncedUser("ada")
                let sequence = try world.written(.update("users", id, ["username": .text("eve")]))
                let batch = try world.push()
                try world.response(.first, world.rejected())
                try world.expect(try world.name(id), is: .text("ada"), "the name")
                try world.expect(try world.store.isPending("users", id), is: false, "isPending")
                let journal = try world.store.journal(state: .active, limit: 9)
                try world.expect(
                    journal.map(\.event),
                    is: [
                        .rejected(
                            batch.transactions[0].transaction,
                            Rejection(code: .forbidden, message: "no", mutation: 0))
                    ], "the journal")
                try world.expect(try world.store.fate(of: sequence), is: .rejected(journal[0]), "the fate")
                try world.expect(try world.store.outboxSummary(), is: OutboxSummary(journal: 1), "the summary")
            },
            Check("a rejected delete brings the record back; a rejected create takes it away") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.delete("users", id))
                let (other, _) = try world.createUser("eve")
                _ = try world.push()
                try world.response(TransactionNumber(0), world.rejected())
                try world.response(TransactionNumber(1), world.rejected())
                try world.expect(
                    try world.user(id), is: world.shownUser(id, uid: 7, version: 1, "ada"), "the deleted one")
                try world.expect(try world.user(other) == nil, "the created one is still there")
            },
            Check(
                "a withdrawn transaction gives its number to an empty one, and goes to the journal with the server's reason"
            ) {
                world in
                try world.sendHello()
                let (id, sequence) = try world.createUser("ada")
                let avatar = try world.written(.create("avatars", world.id(), ["author": .reference(id)]))
                let (other, _) = try world.createUser("bob")
                let first = try world.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                let reason = Rejection(code: .tooLarge, message: "more than the server takes", mutation: nil)
                let stranger = ClientIdentity(client: first.identity.client, incarnation: 9)
                _ = try world.store.withdraw(.first, of: stranger, because: reason)
                let unchanged = try world.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                try world.expect(unchanged.isWithdrawal, is: false, "a withdrawal by another identity")
                _ = try world.store.withdraw(.first, of: first.identity, because: reason)
                let again = try world.push()
                try world.expect(
                    again.isWithdrawal && again.transactions.count == 1, "expected a single withdrawal, found \(again)")
                try world.expect(again.transactions[0].number, is: .first, "the number")
                try world.expect(again.transactions[0].transaction.mutations, is: [], "what is sent in its place")
                try world.expect(again.transactions[0].hash != first.transactions[0].hash, "the hash is the same")
                // The record stays visible until the server has confirmed that no other transaction will take its
                // number.
                try world.expect(try world.user(id) != nil, "the record is gone too early")
                try world.response(.first, world.rejected(.malformed))
                for (sequence, code) in [(sequence, RejectionCode.tooLarge), (avatar, .dependsOnRejected)] {
                    guard case .rejected(let entry) = try world.store.fate(of: sequence),
                        case .rejected(_, let rejection) = entry.event
                    else { throw ConformanceViolation(rule: world.rule, detail: "\(sequence) was not rejected") }
                    try world.expect(rejection.code, is: code, "the code of \(sequence)")
                }
                try world.expect(try world.user(id) == nil, "the record is still there")
                try world.expect(try world.user(other) != nil, "the other is gone")
            },
            Check("a new identity sends a withdrawn transaction again") { world in
                try world.sendHello()
                _ = try world.createUser()
                let first = try world.push()
                let reason = Rejection(code: .tooLarge, message: "more than the server takes", mutation: nil)
                _ = try world.store.withdraw(.first, of: first.identity, because: reason)
                _ = try world.store.renewIdentity(as: world.anotherClient)
                let again = try world.push()
                try world.expect(again.isWithdrawal, is: false, "the withdrawal")
                try world.expect(
                    again.transactions.map(\.transaction), is: first.transactions.map(\.transaction), "what is sent")
            },
            Check("a rejected transaction takes its dependants to the journal, and nothing else") { world in
                try world.sendHello()
                let (user, root) = try world.createUser("ada")
                _ = try world.push(BatchLimit(transactions: 1, bytes: 1_000_000))
                let rename = try world.written(.update("users", user, ["username": .text("eve")]))
                let avatar = world.id()
                let refers = try world.written(.create("avatars", avatar, ["author": .reference(user)]))
                let indirect = try world.written(.update("avatars", avatar, ["title": .text("t")]))
                let (other, free) = try world.createUser("bob")
                try world.response(.first, world.rejected())
                for sequence in [root, rename, refers, indirect] {
                    guard case .rejected(let entry) = try world.store.fate(of: sequence),
                        case .rejected(_, let rejection) = entry.event
                    else { throw ConformanceViolation(rule: world.rule, detail: "\(sequence) was not rejected") }
                    let code: RejectionCode = sequence == root ? .forbidden : .dependsOnRejected
                    try world.expect(rejection.code, is: code, "the code of \(sequence)")
                }
                try world.expect(try world.store.fate(of: free), is: .pending(.waiting), "the fate of the other")
                try world.expect(try world.user(other) != nil, "the other is gone")
                try world.expect(try world.user(user) == nil, "the rejected user is still there")
                try world.expect(try world.store.record("avatars", .id(avatar)) == nil, "its avatar is still there")
            },
            Check("dependants that were sent wait for their own response") { world in
                let id = try world.syncedUser("ada")
                _ = try world.written(.update("users", id, ["username": .text("eve")]))
                _ = try world.push()
                let second = try world.written(.update("users", id, ["age": .integer(4)]))
                _ = try world.push()
                try world.response(TransactionNumber(0), world.rejected())
                try world.expect(
                    try world.store.fate(of: second), is: .pending(.sent(TransactionNumber(1), attempts: 1)), "the fate"
                )
                try world.expect(try world.user(id)?.values.prefix(2), is: [.text("ada"), .integer(4)], "the record")
            },
            Check("a merged transaction leaves its conflicts in the journal") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("eve")]))
                _ = try world.push()
                let stamp = Stamp(
                    time: HybridTime(rawValue: .max), client: ClientID(bits: Identifier128(high: 1, low: 2)))
                let conflict = FieldConflict(
                    collection: "users", record: id, field: "username", base: .text("ada"),
                    winner: Contender(value: .text("zoe"), stamp: stamp),
                    loser: Contender(value: .null, stamp: stamp), rule: .latestEdit)
                try world.response(.first, world.applied(3, conflicts: [conflict]))
                try world.expect(
                    try world.store.journal(state: nil, limit: 9).map(\.event), is: [.merged([conflict])], "the journal"
                )
            },
            Check("a negative uid is refused") { world in
                try world.sendHello()
                let (id, _) = try world.createUser()
                let batch = try world.push()
                try world.expect(.contradiction) {
                    let uid = AssignedUID(collection: "users", record: id, uid: UID(-5))
                    _ = try world.store.record(
                        [TransactionResult(number: .first, outcome: world.applied(1, uids: [uid]))],
                        of: batch.identity, now: world.now())
                }
                try world.expect(try world.store.outboxSummary().sent, is: 1, "the count of sent entries")
            },
            Check("an outcome of an earlier incarnation says nothing about the numbers of this one") { world in
                try world.sendHello()
                _ = try world.createUser("one")
                let before = try world.push()
                _ = try world.store.renewIdentity(as: world.anotherClient)
                _ = try world.push()
                let summary = try world.store.record(
                    [TransactionResult(number: .first, outcome: world.applied(1))], of: before.identity,
                    now: world.now())
                try world.expect(summary.answered, is: 0, "the count of answered entries")
            },
        ]
    }
}

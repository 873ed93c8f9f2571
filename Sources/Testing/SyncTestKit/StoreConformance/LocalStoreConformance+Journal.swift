import SyncCore
import SyncModel

// User operations on the outbox and the journal: cancel, restore, dismiss.
extension LocalStoreConformance {
    private func restoresDeleted(in world: StoreWorld<Store>, pageIsFirst: Bool) throws {
        let id = try world.syncedUser("ada")
        try world.commit(.update("users", id, ["username": .text("eve")]))
        let number = try world.push().transactions[0].number
        let page = world.feed([world.at(2, world.deleted(id))], to: 2)
        if pageIsFirst { try world.pull(page) }
        try world.response(number, world.rejected(.recordDeleted))
        if !pageIsFirst { try world.pull(page) }
        try world.expect(try world.user(id) == nil, "the deleted user is still there")
        let entry = try world.store.journal(state: .active, limit: 1)[0].number
        _ = try world.store.restore(journal: entry, now: world.now(), newID: world.newID)
        let made = try world.store.records(matching: RecordQuery("users"))
        try world.expect(made.count, is: 1, "the users")
        try world.expect(made[0].id != id, "the id of a deleted record is used again")
        try world.expect(try world.name(made[0].id), is: .text("eve"), "the name")
    }

    var journalChecks: [Check] {
        [
            Check("a waiting transaction is cancelled with what depends on it") { world in
                let (user, sequence) = try world.createUser("ada")
                let avatar = world.id()
                let dependant = try world.written(.create("avatars", avatar, ["author": .reference(user)]))
                let (_, free) = try world.createUser("eve")
                try world.store.cancel(sequence, now: world.now())
                try world.expect(try world.user(user) == nil, "the user is still there")
                try world.expect(try world.store.fate(of: sequence), is: .cancelled, "the fate")
                try world.expect(try world.store.fate(of: dependant), is: .cancelled, "the dependant's fate")
                try world.expect(try world.store.fate(of: free), is: .pending(.waiting), "the other's fate")
                try world.expect(try world.store.outboxSummary().journal, is: 2, "the unseen journal entries")
            },
            Check("a transaction that was sent, or does not exist, is not cancelled") { world in
                let (_, sequence) = try world.createUser()
                _ = try world.push()
                try world.expect(.entryIsFrozen) {
                    try world.store.cancel(sequence, now: world.now())
                }
                try world.expect(.missingEntry) {
                    try world.store.cancel(OutboxSequence(rawValue: 99), now: world.now())
                }
                try world.expect(.missingEntry) {
                    _ = try world.store.fate(of: OutboxSequence(rawValue: 99))
                }
            },
            Check("a rejected transaction is restored over the current record") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("eve")]))
                _ = try world.push()
                try world.response(.first, world.rejected())
                try world.pull(world.feed([world.at(2, world.renamed(id, "zoe"))], to: 2))
                let number = try world.store.journal(state: .active, limit: 1)[0].number
                try world.expect(try world.store.rejectionCount(), is: 1, "the rejections")
                let again = try world.store.restore(journal: number, now: world.now(), newID: world.newID)
                try world.expect(again.count, is: 1, "the count of transactions")
                try world.expect(try world.name(id), is: .text("eve"), "the name")
                let mutation = try world.store.outbox(limit: 9).first?.transaction.mutations.first?.intent
                try world.expect(
                    mutation,
                    is: .update([
                        FieldEdit(field: "username", value: .text("eve"), before: .text("zoe"), seen: Version(2))
                    ]), "the new mutation")
                try world.expect(
                    try world.store.journal(state: .restored, limit: 9).count, is: 1, "the restored entries")
                try world.expect(try world.store.outboxSummary().journal, is: 0, "the unseen entries")
                try world.expect(try world.store.rejectionCount(), is: 0, "the rejections after the restore")
                try world.expect(.entryIsFrozen) {
                    _ = try world.store.restore(journal: number, now: world.now(), newID: world.newID)
                }
            },
            Check("a refused edit of a record is restored when a page has deleted the record before") { world in
                try restoresDeleted(in: world, pageIsFirst: true)
            },
            Check("a refused edit of a record is restored when a page deletes the record later") { world in
                try restoresDeleted(in: world, pageIsFirst: false)
            },
            Check("a rejected creation can be sent again under the same id") { world in
                try world.sendHello()
                let (id, _) = try world.createUser("ada")
                _ = try world.push()
                try world.response(.first, world.rejected())
                let number = try world.store.journal(state: .active, limit: 1)[0].number
                _ = try world.store.restore(journal: number, now: world.now(), newID: world.newID)
                try world.expect(try world.name(id), is: .text("ada"), "the name")
                let batch = try world.push()
                try world.expect(batch.transactions.map(\.number), is: [TransactionNumber(1)], "the new numbers")
            },
            Check("a journal entry can be dismissed") { world in
                let (_, sequence) = try world.createUser()
                try world.store.cancel(sequence, now: world.now())
                let number = try world.store.journal(state: nil, limit: 1)[0].number
                try world.store.dismiss(journal: number)
                try world.store.dismiss(journal: number)
                try world.expect(try world.store.outboxSummary().journal, is: 0, "the unseen entries")
                try world.expect(
                    try world.store.journal(state: .dismissed, limit: 9).count, is: 1, "the dismissed ones")
                try world.expect(.missingEntry) {
                    try world.store.dismiss(journal: 99)
                }
            },
            Check("the journal is read newest first") { world in
                for name in ["a", "b", "c"] {
                    try world.store.cancel(try world.createUser(name).1, now: world.now())
                }
                let numbers = try world.store.journal(state: nil, limit: 2).map(\.number)
                try world.expect(numbers, is: [3, 2], "the numbers")
            },
            Check("the journal is read in pages, and one entry by its number") { world in
                for name in ["a", "b", "c", "d"] {
                    try world.store.cancel(try world.createUser(name).1, now: world.now())
                }
                try world.store.dismiss(journal: 3)
                let store = world.store
                try world.expect(
                    try store.journal(state: nil, after: 4, limit: 2).map(\.number), is: [3, 2], "a page of all")
                try world.expect(
                    try store.journal(state: .active, after: 4, limit: 2).map(\.number), is: [2, 1],
                    "a page of the active")
                try world.expect(
                    try store.journal(state: .dismissed, after: 4, limit: 2).map(\.number), is: [3], "the dismissed")
                try world.expect(try store.journal(state: nil, after: 1, limit: 2), is: [], "behind the oldest")
                try world.expect(try store.journalEntry(2)?.number, is: 2, "the entry of a number")
                try world.expect(try store.journalEntry(9), is: nil, "the entry of an unknown number")
            },
            Check("all active entries up to a number are dismissed together") { world in
                for name in ["a", "b", "c"] {
                    try world.store.cancel(try world.createUser(name).1, now: world.now())
                }
                try world.expect(try world.store.dismissJournal(upTo: 2), is: 2, "the dismissed entries")
                try world.expect(
                    try world.store.journal(state: .active, limit: 9).map(\.number), is: [3], "what is left")
                try world.expect(try world.store.outboxSummary().journal, is: 1, "the count of active entries")
            },
        ]
    }

    // The identity of the store, and the server history that it follows.
    var identityChecks: [Check] {
        [
            Check("the first epoch is noted, and what was sent keeps its numbers") { world in
                _ = try world.createUser()
                let batch = try world.push()
                let session = try world.store.adopt(world.epoch, as: world.account)
                try world.expect(session.epoch, is: world.epoch, "the epoch")
                try world.expect(session.account, is: world.account, "the account")
                try world.expect(session.identity, is: batch.identity, "the identity")
                try world.expect(
                    try world.push().transactions.map(\.hash), is: batch.transactions.map(\.hash), "the repeated batch")
            },
            Check("a database belongs to the account that it first met a server with") { world in
                try world.sendHello()
                let session = try world.store.session()
                try world.expect(.otherAccount) {
                    _ = try world.store.adopt(Epoch(rawValue: "another"), as: AccountID(rawValue: "someone else"))
                }
                try world.expect(try world.store.session(), is: session, "the session")
            },
            Check("another epoch forgets cursors, and sends everything unconfirmed again under a new identity") {
                world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["age": .integer(1)]))
                let first = try world.push()
                try world.response(.first, world.applied(2))
                try world.commit(.update("users", id, ["age": .integer(2)]))
                let session = try world.store.adopt(Epoch(rawValue: "restored"), as: world.account)
                try world.expect(session.identity, is: first.identity.next, "the identity")
                try world.expect(session.spaces.map(\.cursor), is: [nil], "the cursors")
                try world.expect(session.outbox.waiting, is: 2, "the count of waiting entries")
                try world.expect(try world.user(id)?.values[1], is: .integer(2), "the age")
                let batch = try world.push()
                try world.expect(batch.transactions.map(\.number.rawValue), is: [0, 1], "the new numbers")
                try world.expect(batch.acknowledged, is: .first, "the acknowledged number")
                for case .update(let edits) in batch.transactions.flatMap({ $0.transaction.mutations.map(\.intent) }) {
                    try world.expect(edits.map(\.seen), is: [.zero], "versions seen in another history")
                }
                let same = try world.store.adopt(Epoch(rawValue: "restored"), as: world.account)
                try world.expect(same.identity, is: session.identity, "the identity after adopting it twice")
            },
            Check("a renewed identity keeps the cursors, and starts its numbers at 0") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["age": .integer(1)]))
                let first = try world.push()
                let session = try world.store.renewIdentity(as: world.anotherClient)
                try world.expect(
                    session.identity, is: ClientIdentity(client: world.anotherClient, incarnation: 0),
                    "the identity")
                try world.expect(session.spaces.map(\.cursor), is: [Cursor(rawValue: "feed-1")], "the cursors")
                try world.expect(
                    session.spaces.map { $0.notices?.clients ?? [] },
                    is: [[world.anotherClient, first.identity.client]], "for whom notices are asked")
                let again = try world.push()
                try world.expect(again.transactions.map(\.hash), is: first.transactions.map(\.hash), "the batch")
                try world.expect(
                    again.transactions.map(\.formerNumbers),
                    is: first.transactions.map {
                        [FormerNumber(identity: first.identity, number: $0.number, hash: $0.hash)]
                    }, "the numbers that it had before")
            },
            Check("no former number is dropped: beyond the limit, the oldest are asked about first") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["age": .integer(1)]))
                let first = try world.push()
                var sent = first.transactions.map {
                    FormerNumber(identity: first.identity, number: $0.number, hash: $0.hash)
                }
                for round in 1...SchemaLimits.formerNumbers + 8 {
                    _ = try world.store.adopt(Epoch(rawValue: "restored-\(round)"), as: world.account)
                    let batch = try world.push()
                    let transaction = batch.transactions[0]
                    try world.expect(
                        transaction.formerNumbers, is: Array(sent.prefix(SchemaLimits.formerNumbers)),
                        "the former numbers in round \(round)")
                    let isQuestion = sent.count > SchemaLimits.formerNumbers
                    try world.expect(transaction.transaction.mutations.isEmpty, is: isQuestion, "whether it is empty")
                    try world.expect(batch.isWithdrawal, is: isQuestion, "whether the push tells that it is empty")
                    if !isQuestion {
                        sent.append(
                            FormerNumber(
                                identity: batch.identity, number: transaction.number, hash: transaction.hash))
                    }
                }
                let question = try world.push()
                let empty = Rejection(code: .malformed, message: "the transaction has no mutations", mutation: nil)
                try world.response(question.transactions[0].number, .rejected(empty))
                try world.expect(try world.store.journal(state: nil, limit: 9).count, is: 0, "the journal's entries")
                let again = try world.push().transactions[0]
                try world.expect(again.hash, is: sent.last?.hash, "the contents, once the question is answered")
                try world.expect(
                    again.formerNumbers, is: Array(sent.dropFirst(SchemaLimits.formerNumbers)), "the other numbers")
                try world.response(again.number, world.applied(2))
                try world.expect(try world.store.session().outbox.answered, is: 1, "the count of answered entries")
            },
            Check("the outcome under an old number answers the question about it") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["age": .integer(1)]))
                for round in 1...SchemaLimits.formerNumbers + 1 {
                    _ = try world.push()
                    _ = try world.store.adopt(Epoch(rawValue: "restored-\(round)"), as: world.account)
                }
                let question = try world.push()
                try world.expect(
                    question.transactions[0].transaction.mutations.isEmpty, is: true, "whether it is empty")
                try world.response(question.transactions[0].number, world.applied(2))
                try world.expect(try world.store.session().outbox.answered, is: 1, "the count of answered entries")
                try world.expect(try world.user(id)?.values[1], is: .integer(1), "the age")
            },
            Check("a transaction that an earlier identity sent is neither cancelled nor coalesced") { world in
                let id = try world.syncedUser("ada")
                let (_, _) = try (world.commit(.update("users", id, ["age": .integer(1)])), world.push())
                _ = try world.store.renewIdentity(as: world.anotherClient)
                let sent = try world.store.outbox(limit: 9)[0]
                try world.expect(sent.isUnsent, is: false, "whether it may be taken back")
                try world.expect(.entryIsFrozen) {
                    try world.store.cancel(sent.sequence, now: world.now())
                }
                try world.commit(.update("users", id, ["age": .integer(2)]))
                try world.expect(try world.store.outbox(limit: 9).count, is: 2, "the count of entries")
            },
            Check("the clock follows the server's clock, but not one far in the future") { world in
                let now = world.now()
                try world.store.observe(HybridTime(wall: now.advanced(by: .seconds(30))), now: now)
                let (_, _) = try world.createUser()
                let ahead = try world.store.outbox(limit: 1)[0].transaction.mutations[0].time
                try world.expect(ahead > HybridTime(wall: now.advanced(by: .seconds(30))), "the stamp is \(ahead)")
                try world.store.observe(HybridTime(wall: now.advanced(by: .seconds(86_400))), now: now)
                _ = try world.createUser()
                let sane = try world.store.outbox(limit: 2)[1].transaction.mutations[0].time
                try world.expect(
                    sane.wall <= now.advanced(by: SchemaLimits.permittedSkew + .seconds(1)), "the stamp is \(sane)")
            },
        ]
    }
}

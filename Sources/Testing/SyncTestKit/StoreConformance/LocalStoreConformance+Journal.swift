import SyncCore
import SyncModel

// User operations on the outbox and the journal: cancel, restore, dismiss.
extension LocalStoreConformance {
    private func restoresDeleted(in fixture: StoreFixture<Store>, pageIsFirst: Bool) throws {
        let id = try fixture.syncedUser("ada")
        try fixture.commit(.update("users", id, ["username": .text("eve")]))
        let number = try fixture.push().transactions[0].number
        let page = fixture.feed([fixture.at(2, fixture.deleted(id))], to: 2)
        if pageIsFirst { try fixture.pull(page) }
        try fixture.response(number, fixture.rejected(.recordDeleted))
        if !pageIsFirst { try fixture.pull(page) }
        try fixture.expect(try fixture.user(id) == nil, "the deleted user is still there")
        let entry = try fixture.store.journal(state: .active, limit: 1)[0].number
        _ = try fixture.store.restore(journal: entry, now: fixture.now(), newID: fixture.newID)
        let made = try fixture.store.records(matching: RecordQuery("users"))
        try fixture.expect(made.count, is: 1, "the users")
        try fixture.expect(made[0].id != id, "the id of a deleted record is used again")
        try fixture.expect(try fixture.name(made[0].id), is: .text("eve"), "the name")
    }

    var journalChecks: [Check] {
        [
            Check("a waiting transaction is cancelled with what depends on it") { fixture in
                let (user, sequence) = try fixture.createUser("ada")
                let avatar = fixture.id()
                let dependant = try fixture.written(.create("avatars", avatar, ["author": .reference(user)]))
                let (_, free) = try fixture.createUser("eve")
                try fixture.store.cancel(sequence, now: fixture.now())
                try fixture.expect(try fixture.user(user) == nil, "the user is still there")
                try fixture.expect(try fixture.store.fate(of: sequence), is: .cancelled, "the fate")
                try fixture.expect(try fixture.store.fate(of: dependant), is: .cancelled, "the dependant's fate")
                try fixture.expect(try fixture.store.fate(of: free), is: .pending(.waiting), "the other's fate")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 2, "the active journal entries")
            },
            Check("a transaction that was sent, or does not exist, is not cancelled") { fixture in
                let (_, sequence) = try fixture.createUser()
                _ = try fixture.push()
                try fixture.expect(.entryIsFrozen) {
                    try fixture.store.cancel(sequence, now: fixture.now())
                }
                try fixture.expect(.missingEntry) {
                    try fixture.store.cancel(OutboxSequence(rawValue: 99), now: fixture.now())
                }
                try fixture.expect(.missingEntry) {
                    _ = try fixture.store.fate(of: OutboxSequence(rawValue: 99))
                }
            },
            Check("a rejected transaction is restored over the current record") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                _ = try fixture.push()
                try fixture.response(.first, fixture.rejected())
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "zoe"))], to: 2))
                let number = try fixture.store.journal(state: .active, limit: 1)[0].number
                try fixture.expect(try fixture.store.rejectionCount(), is: 1, "the rejections")
                let again = try fixture.store.restore(journal: number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(again.count, is: 1, "the count of transactions")
                try fixture.expect(try fixture.name(id), is: .text("eve"), "the name")
                let mutation = try fixture.store.outbox(limit: 9).first?.transaction.mutations.first?.intent
                try fixture.expect(
                    mutation,
                    is: .update([
                        FieldEdit(field: "username", value: .text("eve"), before: .text("zoe"), seen: Version(2))
                    ]), "the new mutation")
                try fixture.expect(
                    try fixture.store.journal(state: .restored, limit: 9).count, is: 1, "the restored entries")
                try fixture.expect(try fixture.store.outboxSummary().activeJournalEntries, is: 0, "the active entries")
                try fixture.expect(try fixture.store.rejectionCount(), is: 0, "the rejections after the restore")
                try fixture.expect(.entryIsFrozen) {
                    _ = try fixture.store.restore(journal: number, now: fixture.now(), newID: fixture.newID)
                }
            },
            Check("a refused edit of a record is restored when a page has deleted the record before") { fixture in
                try restoresDeleted(in: fixture, pageIsFirst: true)
            },
            Check("a refused edit of a record is restored when a page deletes the record later") { fixture in
                try restoresDeleted(in: fixture, pageIsFirst: false)
            },
            Check("a rejected creation can be sent again under the same id") { fixture in
                try fixture.sendHello()
                let (id, _) = try fixture.createUser("ada")
                _ = try fixture.push()
                try fixture.response(.first, fixture.rejected())
                let number = try fixture.store.journal(state: .active, limit: 1)[0].number
                _ = try fixture.store.restore(journal: number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.name(id), is: .text("ada"), "the name")
                let batch = try fixture.push()
                try fixture.expect(batch.transactions.map(\.number), is: [TransactionNumber(1)], "the new numbers")
            },
            Check("a journal entry can be dismissed") { fixture in
                let (_, sequence) = try fixture.createUser()
                try fixture.store.cancel(sequence, now: fixture.now())
                let number = try fixture.store.journal(state: nil, limit: 1)[0].number
                try fixture.store.dismiss(journal: number)
                try fixture.store.dismiss(journal: number)
                try fixture.expect(try fixture.store.outboxSummary().activeJournalEntries, is: 0, "the active entries")
                try fixture.expect(
                    try fixture.store.journal(state: .dismissed, limit: 9).count, is: 1, "the dismissed ones")
                try fixture.expect(.missingEntry) {
                    try fixture.store.dismiss(journal: 99)
                }
            },
            Check("the journal is read newest first") { fixture in
                for name in ["a", "b", "c"] {
                    try fixture.store.cancel(try fixture.createUser(name).1, now: fixture.now())
                }
                let numbers = try fixture.store.journal(state: nil, limit: 2).map(\.number)
                try fixture.expect(numbers, is: [3, 2], "the numbers")
            },
            Check("the journal is read in pages, and one entry by its number") { fixture in
                for name in ["a", "b", "c", "d"] {
                    try fixture.store.cancel(try fixture.createUser(name).1, now: fixture.now())
                }
                try fixture.store.dismiss(journal: 3)
                let store = fixture.store
                try fixture.expect(
                    try store.journal(state: nil, after: 4, limit: 2).map(\.number), is: [3, 2], "a page of all")
                try fixture.expect(
                    try store.journal(state: .active, after: 4, limit: 2).map(\.number), is: [2, 1],
                    "a page of the active")
                try fixture.expect(
                    try store.journal(state: .dismissed, after: 4, limit: 2).map(\.number), is: [3], "the dismissed")
                try fixture.expect(try store.journal(state: nil, after: 1, limit: 2), is: [], "behind the oldest")
                try fixture.expect(try store.journalEntry(2)?.number, is: 2, "the entry of a number")
                try fixture.expect(try store.journalEntry(9), is: nil, "the entry of an unknown number")
            },
            Check("all active entries up to a number are dismissed together") { fixture in
                for name in ["a", "b", "c"] {
                    try fixture.store.cancel(try fixture.createUser(name).1, now: fixture.now())
                }
                try fixture.expect(try fixture.store.dismissJournal(upTo: 2), is: 2, "the dismissed entries")
                try fixture.expect(
                    try fixture.store.journal(state: .active, limit: 9).map(\.number), is: [3], "what is left")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 1, "the count of active entries")
            },
        ]
    }

    // The identity of the store, and the server history that it follows.
    var identityChecks: [Check] {
        [
            Check("the first epoch is noted, and what was sent keeps its numbers") { fixture in
                _ = try fixture.createUser()
                let batch = try fixture.push()
                let session = try fixture.store.adopt(fixture.epoch, as: fixture.account)
                try fixture.expect(session.epoch, is: fixture.epoch, "the epoch")
                try fixture.expect(session.account, is: fixture.account, "the account")
                try fixture.expect(session.identity, is: batch.identity, "the identity")
                try fixture.expect(
                    try fixture.push().transactions.map(\.hash), is: batch.transactions.map(\.hash),
                    "the repeated batch")
            },
            Check("after a hello alone, another account may take the database") { fixture in
                try fixture.sendHello()
                _ = try fixture.createUser()
                let other = AccountID(rawValue: "someone else")
                let session = try fixture.store.adopt(Epoch(rawValue: "another"), as: other)
                try fixture.expect(session.account, is: other, "the account")
                try fixture.expect(session.outbox.waiting, is: 1, "the count of waiting entries")
            },
            Check("after hellos of several histories, and a cancelled write, the first account may come back") {
                fixture in
                try fixture.sendHello()
                let sequence = try fixture.createUser().1
                let identity = try fixture.store.adopt(
                    Epoch(rawValue: "another"), as: AccountID(rawValue: "someone else")
                ).identity
                try fixture.store.cancel(sequence, now: fixture.now())
                let session = try fixture.store.adopt(fixture.epoch, as: fixture.account)
                try fixture.expect(session.account, is: fixture.account, "the account")
                try fixture.expect(session.identity, is: identity, "the identity")
            },
            Check("a database belongs to the account with which it has pulled") { fixture in
                _ = try fixture.syncedUser("ada")
                let session = try fixture.store.session()
                try fixture.expect(.otherAccount) {
                    _ = try fixture.store.adopt(Epoch(rawValue: "another"), as: AccountID(rawValue: "someone else"))
                }
                try fixture.expect(try fixture.store.session(), is: session, "the session")
            },
            Check("a database belongs to its account after it has unfollowed the only space that it has pulled") {
                fixture in
                try fixture.sendHello()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(fixture.id(), uid: 1, version: 1, "ada")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.store.unfollow("team")
                _ = try fixture.createUser()
                try fixture.expect(.otherAccount) {
                    _ = try fixture.store.adopt(fixture.epoch, as: AccountID(rawValue: "someone else"))
                }
            },
            Check("a database belongs to the account with which it has pushed") { fixture in
                try fixture.sendHello()
                _ = try fixture.createUser()
                _ = try fixture.push()
                try fixture.expect(.otherAccount) {
                    _ = try fixture.store.adopt(fixture.epoch, as: AccountID(rawValue: "someone else"))
                }
            },
            Check("a database belongs to its account after another history, too") { fixture in
                _ = try fixture.syncedUser("ada")
                _ = try fixture.store.adopt(Epoch(rawValue: "restored"), as: fixture.account)
                try fixture.expect(.otherAccount) {
                    _ = try fixture.store.adopt(fixture.epoch, as: AccountID(rawValue: "someone else"))
                }
            },
            Check("another epoch forgets cursors, and sends everything unconfirmed again under a new identity") {
                fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["age": .integer(1)]))
                let first = try fixture.push()
                try fixture.response(.first, fixture.applied(2))
                try fixture.commit(.update("users", id, ["age": .integer(2)]))
                let session = try fixture.store.adopt(Epoch(rawValue: "restored"), as: fixture.account)
                try fixture.expect(session.identity, is: first.identity.next, "the identity")
                try fixture.expect(session.spaces.map(\.cursor), is: [nil], "the cursors")
                try fixture.expect(session.outbox.waiting, is: 2, "the count of waiting entries")
                try fixture.expect(try fixture.user(id)?.values[1], is: .integer(2), "the age")
                let batch = try fixture.push()
                try fixture.expect(batch.transactions.map(\.number.rawValue), is: [0, 1], "the new numbers")
                try fixture.expect(batch.acknowledged, is: .first, "the acknowledged number")
                for case .update(let edits) in batch.transactions.flatMap({ $0.transaction.mutations.map(\.intent) }) {
                    try fixture.expect(edits.map(\.seen), is: [.zero], "versions seen in another history")
                }
                let same = try fixture.store.adopt(Epoch(rawValue: "restored"), as: fixture.account)
                try fixture.expect(same.identity, is: session.identity, "the identity after adopting it twice")
            },
            Check("a renewed identity keeps the cursors, and starts its numbers at 0") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["age": .integer(1)]))
                let first = try fixture.push()
                let former = try fixture.store.session().identity.client
                try fixture.expect(try fixture.store.clients(), is: [former], "the client ids")
                let session = try fixture.store.renewIdentity(as: fixture.anotherClient)
                try fixture.expect(
                    try fixture.store.clients(), is: [fixture.anotherClient, former], "the client ids once renewed")
                try fixture.expect(
                    session.identity, is: ClientIdentity(client: fixture.anotherClient, incarnation: 0),
                    "the identity")
                try fixture.expect(session.spaces.map(\.cursor), is: [Cursor(rawValue: "feed-1")], "the cursors")
                try fixture.expect(
                    session.spaces.map { $0.notices?.clients ?? [] },
                    is: [[fixture.anotherClient, first.identity.client]], "for whom notices are asked")
                let again = try fixture.push()
                try fixture.expect(again.transactions.map(\.hash), is: first.transactions.map(\.hash), "the batch")
                try fixture.expect(
                    again.transactions.map(\.formerNumbers),
                    is: first.transactions.map {
                        [FormerNumber(identity: first.identity, number: $0.number, hash: $0.hash)]
                    }, "the numbers that it had before")
            },
            Check("no former number is dropped: beyond the limit, the oldest are asked about first") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["age": .integer(1)]))
                let first = try fixture.push()
                var sent = first.transactions.map {
                    FormerNumber(identity: first.identity, number: $0.number, hash: $0.hash)
                }
                for round in 1...SchemaLimits.formerNumbers + 8 {
                    _ = try fixture.store.adopt(Epoch(rawValue: "restored-\(round)"), as: fixture.account)
                    let batch = try fixture.push()
                    let transaction = batch.transactions[0]
                    try fixture.expect(
                        transaction.formerNumbers, is: Array(sent.prefix(SchemaLimits.formerNumbers)),
                        "the former numbers in round \(round)")
                    let isQuestion = sent.count > SchemaLimits.formerNumbers
                    try fixture.expect(transaction.transaction.mutations.isEmpty, is: isQuestion, "whether it is empty")
                    try fixture.expect(batch.isEmptied, is: isQuestion, "whether the push tells that it is empty")
                    if !isQuestion {
                        sent.append(
                            FormerNumber(
                                identity: batch.identity, number: transaction.number, hash: transaction.hash))
                    }
                }
                let question = try fixture.push()
                let empty = Rejection(code: .malformed, message: "the transaction has no mutations", mutation: nil)
                try fixture.response(question.transactions[0].number, .rejected(empty))
                try fixture.expect(
                    try fixture.store.journal(state: nil, limit: 9).count, is: 0, "the journal's entries")
                let again = try fixture.push().transactions[0]
                try fixture.expect(again.hash, is: sent.last?.hash, "the contents, once the question is answered")
                try fixture.expect(
                    again.formerNumbers, is: Array(sent.dropFirst(SchemaLimits.formerNumbers)), "the other numbers")
                try fixture.response(again.number, fixture.applied(2))
                try fixture.expect(try fixture.store.session().outbox.answered, is: 1, "the count of answered entries")
            },
            Check("the outcome under an old number answers the question about it") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["age": .integer(1)]))
                for round in 1...SchemaLimits.formerNumbers + 1 {
                    _ = try fixture.push()
                    _ = try fixture.store.adopt(Epoch(rawValue: "restored-\(round)"), as: fixture.account)
                }
                let question = try fixture.push()
                try fixture.expect(
                    question.transactions[0].transaction.mutations.isEmpty, is: true, "whether it is empty")
                try fixture.response(question.transactions[0].number, fixture.applied(2))
                try fixture.expect(try fixture.store.session().outbox.answered, is: 1, "the count of answered entries")
                try fixture.expect(try fixture.user(id)?.values[1], is: .integer(1), "the age")
            },
            Check("a transaction that an earlier identity sent is neither cancelled nor coalesced") { fixture in
                let id = try fixture.syncedUser("ada")
                let (_, _) = try (fixture.commit(.update("users", id, ["age": .integer(1)])), fixture.push())
                _ = try fixture.store.renewIdentity(as: fixture.anotherClient)
                let sent = try fixture.store.outbox(limit: 9)[0]
                try fixture.expect(sent.isUnsent, is: false, "whether it may be taken back")
                try fixture.expect(.entryIsFrozen) {
                    try fixture.store.cancel(sent.sequence, now: fixture.now())
                }
                try fixture.commit(.update("users", id, ["age": .integer(2)]))
                try fixture.expect(try fixture.store.outbox(limit: 9).count, is: 2, "the count of entries")
            },
            Check("the clock follows the server's clock, but not one far in the future") { fixture in
                let now = fixture.now()
                try fixture.store.observe(HybridTime(wall: now.advanced(by: .seconds(30))), now: now)
                let (_, _) = try fixture.createUser()
                let ahead = try fixture.store.outbox(limit: 1)[0].transaction.mutations[0].time
                try fixture.expect(ahead > HybridTime(wall: now.advanced(by: .seconds(30))), "the stamp is \(ahead)")
                try fixture.store.observe(HybridTime(wall: now.advanced(by: .seconds(86_400))), now: now)
                _ = try fixture.createUser()
                let sane = try fixture.store.outbox(limit: 2)[1].transaction.mutations[0].time
                try fixture.expect(
                    sane.wall <= now.advanced(by: SchemaLimits.permittedSkew + .seconds(1)), "the stamp is \(sane)")
            },
        ]
    }
}

import SyncCore
import SyncModel

// A device that loses read access to a space keeps only its own edits there (I21).
extension LocalStoreConformance {
    var accessChecks: [Check] {
        [
            Check("losing access to a space removes the server's records of it") { fixture in
                let id = try fixture.syncedUser()
                let other = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(fixture.id(), uid: 8, version: 1, "bo")])
                try fixture.pull(fixture.snapshot([other], at: 1, in: "elsewhere"))
                let vacated = try fixture.vacate()
                try fixture.expect(vacated.removedRecords, is: 1, "the count of removed records")
                try fixture.expect(try fixture.user(id) == nil, "a record of the space is still shown")
                try fixture.expect(try fixture.user(other.records[0].id) != nil, "a record of another space is gone")
                let stored = StoredSpace(
                    space: fixture.space, cursor: nil, version: .zero, isComplete: false, hasAccess: false,
                    notices: try fixture.wantsNotices())
                try fixture.expect(vacated.stored, is: stored, "what is told of the space")
                try fixture.expect(try fixture.stored(), is: stored, "what is stored of the space")
                try fixture.expect(
                    try fixture.vacate(),
                    is: VacatedSpace(
                        stored: stored, outbox: OutboxSummary(), removedRecords: 0), "a second response")
            },
            Check("pending writes to a space without access stay until the server refuses them") { fixture in
                let id = try fixture.syncedUser()
                let edit = try fixture.written(.update("users", id, ["age": .integer(41)]))
                let (made, creation) = try fixture.createUser("bo")
                try fixture.expect(
                    try fixture.vacate().removedRecords, is: 1, "the count of removed records")
                try fixture.expect(try fixture.user(id) == nil, "an edited record of the space is still shown")
                try fixture.expect(try fixture.name(made), is: .text("bo"), "the name of a record of this device")
                try fixture.expect(try fixture.store.fate(of: edit), is: .pending(.waiting), "the fate of the edit")
                let batch = try fixture.push()
                try fixture.expect(batch.transactions.count, is: 2, "the count of what is sent")
                for sent in batch.transactions { try fixture.response(sent.number, fixture.rejected()) }
                try fixture.expect(try fixture.user(made) == nil, "a refused record is still shown")
                let kept = try fixture.store.journal(state: .active, limit: 9).compactMap { entry in
                    if case .rejected(let transaction, _) = entry.event { (entry.sequence, transaction) } else { nil }
                }
                try fixture.expect(kept.map(\.0), is: [creation, edit], "what the journal keeps")
                try fixture.expect(
                    kept.last?.1.mutations.map(\.patch), is: [["age": .integer(41)]], "what it keeps of the edit")
            },
            Check("a transaction answered before access was lost is confirmed without a page") { fixture in
                try fixture.sendHello()
                let (id, creation) = try fixture.createUser()
                try fixture.response(try fixture.push().transactions[0].number, fixture.applied(3))
                let vacated = try fixture.vacate()
                try fixture.expect(vacated.outbox.count, is: 0, "the count of what is unconfirmed")
                try fixture.expect(try fixture.user(id) == nil, "a record that the server has is still shown")
                guard case .confirmed = try fixture.store.fate(of: creation) else {
                    throw ConformanceViolation(rule: fixture.rule, detail: "its fate is not to be confirmed")
                }

                // The same holds when the response comes after the access is lost.
                let (late, _) = try fixture.createUser("late")
                try fixture.response(try fixture.push().transactions[0].number, fixture.applied(4))
                try fixture.expect(try fixture.store.outboxSummary().count, is: 0, "the count of what is unconfirmed")
                try fixture.expect(try fixture.user(late) == nil, "a late record is still shown")
            },
            Check("losing access removes values of others from the journal, and keeps rejected transactions") {
                fixture in
                let id = try fixture.syncedUser()
                _ = try fixture.written(.update("users", id, ["username": .text("mine")]))
                let sent = try fixture.push().transactions[0]
                let stamp = Stamp(time: .zero, client: try fixture.store.session().identity.client)
                let conflict = FieldConflict(
                    collection: "users", record: id, field: "username", base: .text("ada"),
                    winner: .init(value: .text("theirs"), stamp: stamp),
                    loser: .init(value: .text("mine"), stamp: stamp), rule: .latestEdit)
                try fixture.response(sent.number, fixture.applied(2, conflicts: [conflict]))
                let (_, refused) = try fixture.createUser("refused")
                let number = try fixture.push().transactions[0].number
                try fixture.response(number, fixture.rejected())
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 2, "the count of the journal")
                _ = try fixture.vacate()
                let left = try fixture.store.journal(state: nil, limit: 9)
                try fixture.expect(left.map(\.sequence), is: [refused], "what the journal keeps")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 1, "the count of the journal afterwards"
                )
            },
            Check("values of a lost history are not offered in a space without access") { fixture in
                let id = try fixture.syncedUser()
                try fixture.pull(fixture.snapshot([], at: 1, in: "elsewhere"))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.pull(fixture.snapshot([], at: 1, of: restored))
                try fixture.expect(try fixture.offers().map(\.record), is: [id], "what is offered before")
                _ = try fixture.vacate("elsewhere", of: restored)
                try fixture.expect(
                    try fixture.offers().map(\.record), is: [id], "what is offered of a space with access")
                _ = try fixture.vacate(of: restored)
                try fixture.expect(try fixture.offers().map(\.record), is: [], "what is offered afterwards")
            },
            Check("another history does not delete records that it has never shown, without consent") {
                fixture in
                let id = try fixture.syncedUser()
                let brake = DeleteBrake(records: 50, percent: 30)
                let other = Epoch(rawValue: "another server")
                _ = try fixture.store.adopt(other, as: fixture.account)
                try fixture.expect(
                    try fixture.store.vacate(fixture.space, of: other, brake: brake, now: fixture.now()),
                    is: .braked(deletes: 1, of: 1),
                    "the result")
                try fixture.expect(try fixture.user(id) != nil, "a record is gone without consent")
                try fixture.expect(try fixture.stored()?.hasAccess, is: true, "the access")
                try fixture.expect(
                    try fixture.vacate(of: fixture.epoch).removedRecords, is: 0, "what a former history removes")
                try fixture.expect(try fixture.vacate(of: other).removedRecords, is: 1, "what is removed with consent")
            },
            Check("own values that a restored server may have lost go to the journal when their space is removed") {
                fixture in
                let theirs = try fixture.syncedUser("ned")
                let (mine, _) = try fixture.createUser("mine")
                _ = try fixture.written(.update("users", theirs, ["username": .text("cy")]))
                for (transaction, version) in zip(try fixture.push().transactions, [Int64(2), 3]) {
                    try fixture.response(transaction.number, fixture.applied(version))
                }
                let age = RecordChange(collection: "users", id: mine, effect: .updated(["age": .integer(41)]))
                let commits = [
                    fixture.at(2, fixture.created(mine, uid: 8, "mine")), fixture.at(3, fixture.renamed(theirs, "cy")),
                    fixture.at(4, age),
                ]
                try fixture.pull(fixture.feed(commits, to: 4))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.expect(try fixture.vacate(of: restored).removedRecords, is: 2, "what is removed")
                // The values that stay need no consent.
                let brake = DeleteBrake(records: 50, percent: 30)
                let second = try fixture.store.vacate(fixture.space, of: restored, brake: brake, now: fixture.now())
                guard case .vacated = second else {
                    throw ConformanceViolation(rule: fixture.rule, detail: "a second response: \(second)")
                }
                let journal = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(journal.count, is: 1, "the count of entries")
                guard case .lost(let kept) = journal[0].event else {
                    throw ConformanceViolation(
                        rule: fixture.rule, detail: "\(journal[0].event); expected lost changes")
                }
                try fixture.expect(journal[0].records, is: nil, "the values of others")
                try fixture.expect(
                    Dictionary(uniqueKeysWithValues: kept.mutations.map { ($0.record, $0.patch) }),
                    is: [mine: ["username": .text("mine")], theirs: ["username": .text("cy")]], "what is kept")
                // The account gets access again. The server has lost one record, and the edit of the other.
                let known = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(theirs, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([known], at: 1, of: restored))
                // Nobody can tell whether the name on the server is newer, so only a person may replace it.
                let selection = try fixture.store.lostEntries().selection()
                let name = LostChange(RecordAddress("users", theirs), "username")
                try fixture.expect(selection.map(\.left), is: [[name: .outdated]], "what is left by a restore of all")
                _ = try fixture.store.restore(
                    journal: journal[0].number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.name(theirs), is: .text("cy"), "the edited name")
                let names = try fixture.store.records(matching: RecordQuery("users", limit: 9)).map(\.values[0])
                try fixture.expect(Set(names), is: [.text("cy"), .text("mine")], "the names")
            },
            Check("an offer of which this device wrote a part is reduced to that part when the access is lost") {
                fixture in
                let theirs = try fixture.syncedUser("theirs")
                let (mine, _) = try fixture.createUser("mine")
                try fixture.response(try fixture.push().transactions[0].number, fixture.applied(2))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.created(mine, uid: 8, "mine"))], to: 2))
                let age = RecordChange(collection: "users", id: mine, effect: .updated(["age": .integer(41)]))
                try fixture.pull(fixture.feed([fixture.at(3, age)], to: 3))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.pull(fixture.snapshot([], at: 1, of: restored))
                try fixture.expect(
                    Set(try fixture.offers().map(\.record)), is: [mine, theirs], "what is offered before")
                let before = try fixture.store.journal(state: .active, limit: 9).count
                _ = try fixture.vacate(of: restored)
                let offers = try fixture.offers()
                try fixture.expect(offers.map(\.record), is: [mine], "the records that are offered afterwards")
                try fixture.expect(offers.map(\.patch), is: [["username": .text("mine")]], "the values")
                try fixture.expect(before, is: 1, "the count of entries before")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 1, "the count of the journal")
                _ = try fixture.vacate(of: restored)
                try fixture.expect(try fixture.offers().map(\.record), is: [mine], "what a second response leaves")
            },
            Check("a pending record does not take the uid of the same id in a vacated space") { fixture in
                let (id, _) = try fixture.createUser("mine")
                try fixture.sendHello()
                let theirs = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "theirs")])
                try fixture.pull(fixture.snapshot([theirs], at: 1, in: "elsewhere"))
                _ = try fixture.vacate("elsewhere")
                try fixture.expect(try fixture.name(id), is: .text("mine"), "its name")
                try fixture.expect(try fixture.user(id)?.uid, is: UID.none, "its uid")
            },
            Check("access comes back with a snapshot, which is not older than what was shown") { fixture in
                let id = try fixture.syncedUser()
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "bo"))], to: 2))
                _ = try fixture.vacate()
                let old = SnapshotRows(collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ada")])
                try fixture.expect(.contradiction) {
                    _ = try fixture.store.apply(
                        fixture.snapshot([old], at: 1), after: nil, brake: nil, now: fixture.now())
                }
                try fixture.expect(try fixture.stored()?.hasAccess, is: false, "the access after a stale page")
                let new = SnapshotRows(collection: "users", records: [fixture.shownUser(id, uid: 7, version: 3, "cy")])
                try fixture.pull(fixture.snapshot([new], at: 3))
                try fixture.expect(try fixture.name(id), is: .text("cy"), "its name")
                try fixture.expect(try fixture.stored()?.hasAccess, is: true, "the access")
                try fixture.expect(try fixture.stored()?.isComplete, is: true, "the completeness")
            },
        ]
    }
}

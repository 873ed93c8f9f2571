import SyncCore
import SyncModel

// Local writes.
extension LocalStoreConformance {
    var commitChecks: [Check] {
        [
            Check("the server's record is read without the pending changes of this device") { fixture in
                let (mine, _) = try fixture.createUser("mine")
                try fixture.expect(try fixture.store.shownRecord("users", mine), is: nil, "what no server has shown")
                let id = try fixture.syncedUser("theirs")
                try fixture.expect(
                    try fixture.store.shownRecord("users", id)?.values[0], is: .text("theirs"), "the settled record")
                try fixture.commit(.update("users", id, ["username": .text("edited")]))
                try fixture.expect(try fixture.name(id), is: .text("edited"), "the current record")
                try fixture.expect(
                    try fixture.store.shownRecord("users", id)?.values[0], is: .text("theirs"), "the server's record")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "newer"))], to: 2))
                try fixture.expect(
                    try fixture.store.shownRecord("users", id)?.values[0], is: .text("newer"), "the record as it is now"
                )
                try fixture.pull(fixture.feed([fixture.at(3, fixture.deleted(id))], to: 3))
                try fixture.expect(try fixture.store.shownRecord("users", id), is: nil, "the deleted record")
            },
            Check("a created record is read at once, pending and without a uid") { fixture in
                let (id, sequence) = try fixture.createUser("ada")
                let record = try fixture.user(id)
                try fixture.expect(record?.values, is: [.text("ada"), .null, .null, .null], "the record")
                try fixture.expect(record?.uid, is: UID.none, "its uid")
                try fixture.expect(try fixture.store.isPending("users", id), is: true, "isPending")
                try fixture.expect(try fixture.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                let entries = try fixture.store.outbox(limit: 10)
                try fixture.expect(entries.map(\.sequence), is: [sequence], "the outbox")
                try fixture.expect(try fixture.store.outboxSummary().waiting, is: 1, "the count of waiting entries")
            },
            Check("the outbox is read in parts, oldest first") { fixture in
                let sequences = try (0..<5).map { try fixture.createUser("user \($0)").1 }
                var found: [OutboxSequence] = []
                while true {
                    let part = try fixture.store.outbox(after: found.last, limit: 2).map(\.sequence)
                    guard !part.isEmpty else { break }
                    try fixture.expect(part.count <= 2, "a part has \(part.count) entries, 2 at most")
                    found += part
                }
                try fixture.expect(found, is: sequences, "all parts")
            },
            Check("a mutation carries what its user had seen") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("eve"), "age": .integer(3)]))
                let intent = try fixture.store.outbox(limit: 1).first?.transaction.mutations.first?.intent
                let expected = Mutation.Intent.update([
                    FieldEdit(field: "age", value: .integer(3), before: .null, seen: Version(1)),
                    FieldEdit(field: "username", value: .text("eve"), before: .text("ada"), seen: Version(1)),
                ])
                try fixture.expect(intent, is: expected, "the mutation")
            },
            Check("a mutation claims to have seen no more than its author saw") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.pull(
                    fixture.feed(
                        [
                            fixture.at(
                                2,
                                RecordChange(
                                    collection: "users", id: id,
                                    effect: .updated(["username": .text("eve"), "age": .integer(3)])))
                        ], to: 2))
                let fields: [FieldName: SeenField] = [
                    "username": SeenField(.text("ada"), at: Version(1)), "age": SeenField(.integer(3), at: Version(9)),
                ]
                _ = try fixture.store.commit(
                    [.update("users", id, ["username": .text("bo"), "age": .integer(4)])],
                    seen: [RecordAddress("users", id): fields],
                    in: fixture.space, now: fixture.now())
                let intent = try fixture.store.outbox(limit: 1).first?.transaction.mutations.first?.intent
                // The author has seen a version of the age that this history does not have: the server has lost another
                // one.
                let expected = Mutation.Intent.update([
                    FieldEdit(field: "age", value: .integer(4), before: .integer(3), seen: .zero),
                    FieldEdit(field: "username", value: .text("bo"), before: .text("eve"), seen: Version(1)),
                ])
                try fixture.expect(intent, is: expected, "the mutation")
                try fixture.expect(
                    try fixture.user(id)?.values.first, is: .text("bo"), "the value that the device shows")
            },
            Check("a pending value that the author of an edit did not see is in the journal") { fixture in
                let id = try fixture.syncedUser("ada")
                let seen = try fixture.seen(id)
                // Another program on this device.
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                try fixture.expectNoted(id, seen: seen)
            },
            Check("a confirmed value of this device that the author of an edit did not see is in the journal") {
                fixture in
                let id = try fixture.syncedUser("ada")
                let seen = try fixture.seen(id)
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                _ = try fixture.push()
                try fixture.response(.first, fixture.applied(2))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "eve"))], to: 2))
                try fixture.expectNoted(id, seen: seen)
            },
            Check("a delete tells what its author did not see of this device's own values") { fixture in
                let id = try fixture.syncedUser("ada")
                let seen = try fixture.seen(id)
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                _ = try fixture.store.commit(
                    [.delete("users", id)], seen: [RecordAddress("users", id): seen], in: fixture.space,
                    now: fixture.now())
                let conflicts = try fixture.overwritten()
                try fixture.expect(conflicts.map(\.loser.value), is: [.text("eve")], "the values that gave way")
                try fixture.expect(conflicts.map(\.rule), is: [.deleteWins], "the rule")
                try fixture.expect(
                    try fixture.store.outbox(limit: 9).last?.transaction.mutations.last?.intent,
                    is: .delete(seen: Version(1)), "the mutation")
            },
            Check("an author who saw another value of the same version saw another history") { fixture in
                let id = try fixture.syncedUser("ada")
                _ = try fixture.store.commit(
                    [.update("users", id, ["username": .text("bo")])],
                    seen: [RecordAddress("users", id): ["username": SeenField(.text("eve"), at: Version(1))]],
                    in: fixture.space, now: fixture.now())
                try fixture.expect(
                    try fixture.store.outbox(limit: 1).first?.transaction.mutations.first?.intent,
                    is: .update([
                        FieldEdit(field: "username", value: .text("bo"), before: .text("ada"), seen: .zero)
                    ]), "the mutation")
                try fixture.expect(try fixture.store.journal(state: nil, limit: 1).isEmpty, "the journal has an entry")
            },
            Check("edits that change nothing write nothing") { fixture in
                let (id, _) = try fixture.createUser("ada")
                let before = try fixture.store.outbox(limit: 10)
                try fixture.expect(
                    try fixture.commit(.update("users", id, ["username": .text("ada")])) == nil, "an entry was written")
                try fixture.expect(try fixture.commit() == nil, "an empty commit wrote an entry")
                try fixture.expect(try fixture.store.outbox(limit: 10), is: before, "the outbox")
            },
            Check("several edits of one record are one mutation") { fixture in
                let id = fixture.id()
                try fixture.commit(
                    .create("users", id, ["username": .text("a")]), .update("users", id, ["username": .text("b")]),
                    .update("users", id, ["age": .integer(2)]))
                let mutations = try fixture.store.outbox(limit: 1).first?.transaction.mutations ?? []
                try fixture.expect(
                    mutations.map(\.intent), is: [.create(["username": .text("b"), "age": .integer(2)])],
                    "the mutations")
                let ghost = fixture.id()
                let nothing = try fixture.commit(
                    .create("users", ghost, ["username": .text("a")]), .delete("users", ghost))
                try fixture.expect(nothing == nil, "a record made and deleted at once was written")
            },
            Check("a circle of references is created in one transaction") { fixture in
                let user = fixture.id()
                let avatar = fixture.id()
                try fixture.commit(
                    .create("users", user, ["username": .text("ada"), "avatar": .reference(avatar)]),
                    .create("avatars", avatar, ["author": .reference(user)]))
                try fixture.expect(try fixture.user(user)?.values[3], is: .reference(avatar), "the user's avatar")
            },
            Check("an invalid edit is refused, and nothing is written") { fixture in
                let (id, _) = try fixture.createUser("ada")
                let absent = fixture.id()
                let good = RecordEdit.create("users", fixture.id(), ["username": .text("good")])
                let outbox = try fixture.store.outbox(limit: 10)
                let bad: [(StoreError.Code, RecordEdit)] = [
                    (.unknownCollection, .create("planets", absent, [:])),
                    (.duplicateRecord, .create("users", id, ["username": .text("twin")])),
                    (.missingRecord, .update("users", absent, ["username": .text("x")])),
                    (.missingRecord, .delete("users", absent)),
                    (.invalidValue, .create("users", absent, [:])),
                    (.invalidValue, .create("users", absent, ["username": .text("")])),
                    (.invalidValue, .create("users", absent, ["username": .text(String(repeating: "x", count: 65))])),
                    (.invalidValue, .update("users", id, ["username": .null])),
                    (.invalidValue, .update("users", id, ["age": .text("old")])),
                    (.invalidValue, .update("users", id, ["height": .integer(1)])),
                    (.invalidValue, .update("users", id, ["username": .text("a\u{0}b")])),
                    (.danglingReference, .update("users", id, ["avatar": .reference(absent)])),
                    (.danglingReference, .create("avatars", absent, ["author": .reference(absent)])),
                ]
                for (code, edit) in bad {
                    try fixture.expect(code) {
                        _ = try fixture.store.commit([good, edit], in: fixture.space, now: fixture.now())
                    }
                    try fixture.expect(try fixture.store.outbox(limit: 10), is: outbox, "the outbox after \(edit)")
                    let count = try fixture.store.count(matching: RecordQuery("users"))
                    try fixture.expect(count, is: 1, "the number of users after \(edit)")
                }
            },
            Check("a record that another one requires is deleted only together with that one") { fixture in
                let (user, _) = try fixture.createUser()
                let avatar = fixture.id()
                try fixture.commit(.create("avatars", avatar, ["author": .reference(user)]))
                try fixture.expect(.stillReferenced) {
                    _ = try fixture.store.commit([.delete("users", user)], in: fixture.space, now: fixture.now())
                }
                try fixture.commit(.delete("users", user), .delete("avatars", avatar))
                try fixture.expect(try fixture.user(user) == nil, "the user is still there")
            },
            Check("an id is not used again after a delete") { fixture in
                let (id, _) = try fixture.createUser()
                try fixture.commit(.delete("users", id))
                try fixture.expect(.duplicateRecord) {
                    _ = try fixture.store.commit(
                        [.create("users", id, ["username": .text("x")])], in: fixture.space, now: fixture.now())
                }
            },
        ]
    }

    /// Rules for edits that join an earlier edit of the same record in the outbox.
    var joiningChecks: [Check] {
        [
            Check("updates that were never sent are joined, and keep what the first had seen") { fixture in
                let id = try fixture.syncedUser("v0")
                let first = try fixture.written(.update("users", id, ["username": .text("v1")]))
                for round in 2...5 {
                    let next = try fixture.written(.update("users", id, ["username": .text("v\(round)")]))
                    try fixture.expect(next, is: first, "the entry of rename \(round)")
                }
                let edits = try fixture.store.outbox(limit: 10)
                try fixture.expect(edits.count, is: 1, "the entries")
                try fixture.expect(
                    edits.first?.transaction.mutations.first?.intent,
                    is: .update([
                        FieldEdit(field: "username", value: .text("v5"), before: .text("v0"), seen: Version(1))
                    ]), "the joined mutation")
                _ = try fixture.push()
                let later = try fixture.written(.update("users", id, ["username": .text("v6")]))
                try fixture.expect(later != first, "an update was joined to an entry that was sent")
            },
            Check("an update of another field is not joined, so each keeps its time") { fixture in
                let id = try fixture.syncedUser()
                let first = try fixture.written(.update("users", id, ["username": .text("bo")]))
                let second = try fixture.written(.update("users", id, ["age": .integer(3)]))
                try fixture.expect(
                    first != second, "updates of two fields were joined, so the older one got the later time")
                let both = try fixture.written(.update("users", id, ["age": .integer(4), "username": .text("cy")]))
                try fixture.expect(
                    both, is: second, "the entry of an update that covers all fields of the newest entry")
            },
            Check("an edit over a pending one has not seen what the server has shown since") { fixture in
                let id = try fixture.syncedUser()
                try fixture.commit(.update("users", id, ["username": .text("bo")]))
                _ = try fixture.push()
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "eve"))], to: 2))
                try fixture.commit(.update("users", id, ["username": .text("cy"), "age": .integer(3)]))
                try fixture.expect(
                    try fixture.store.outbox(limit: 9).last?.transaction.mutations.first?.intent,
                    is: .update([
                        FieldEdit(field: "age", value: .integer(3), before: .null, seen: Version(1)),
                        FieldEdit(field: "username", value: .text("cy"), before: .text("bo"), seen: Version(1)),
                    ]), "the second edit")
            },
            Check("an edit that no longer refers to a record does not depend on it") { fixture in
                let user = try fixture.syncedUser()
                let avatar = fixture.id()
                let creation = try fixture.written(.create("avatars", avatar, ["author": .reference(user)]))
                let edit = try fixture.written(.update("users", user, ["avatar": .reference(avatar)]))
                let joined = try fixture.written(.update("users", user, ["avatar": .null, "age": .integer(3)]))
                try fixture.expect(joined, is: edit, "the entry of the second edit")
                try fixture.store.cancel(creation, now: fixture.now())
                try fixture.expect(try fixture.store.fate(of: edit), is: .pending(.waiting), "the fate of the edit")
            },
            Check("updates of different records, and deletes, stay apart") { fixture in
                let one = try fixture.syncedUser("one")
                let two = fixture.id()
                try fixture.pull(fixture.feed([fixture.at(2, fixture.created(two, uid: 8, "two"))], to: 2))
                let first = try fixture.written(.update("users", one, ["age": .integer(1)]))
                let second = try fixture.written(.update("users", two, ["age": .integer(1)]))
                let third = try fixture.written(.delete("users", two))
                try fixture.expect(Set([first, second, third]).count, is: 3, "the number of entries")
            },
        ]
    }

    /// Rules for the time stamps of edits.
    var stampChecks: [Check] {
        [
            Check("stamps come after what a server has shown, also where the device's clock is slow") { fixture in
                let id = try fixture.syncedUser()
                let ahead = WallTime(milliseconds: fixture.now().milliseconds + 30_000)
                let page = fixture.feed([fixture.at(2, fixture.renamed(id, "eve"))], to: 2)
                try fixture.pull(
                    PullPage(
                        space: page.space, epoch: page.epoch, serverTime: HybridTime(wall: ahead),
                        content: page.content, cursor: page.cursor, version: page.version, head: page.head,
                        hasMore: false))
                try fixture.commit(.update("users", id, ["age": .integer(3)]))
                let time = try fixture.store.outbox(limit: 1)[0].transaction.mutations[0].time
                try fixture.expect(time > HybridTime(wall: ahead), "the stamp \(time) is not after \(ahead)")
            },
            Check("stamps grow, even when the wall clock goes back a little") { fixture in
                let (id, _) = try fixture.createUser()
                let early = fixture.now().advanced(by: .seconds(-50))
                _ = try fixture.push()
                _ = try fixture.store.commit(
                    [.update("users", id, ["age": .integer(1)])], in: fixture.space, now: early)
                let times = try fixture.store.outbox(limit: 10).map { $0.transaction.mutations[0].time }
                try fixture.expect(times[0] < times[1], "the stamps are \(times)")
            },
            Check("after a clock that was far ahead is corrected, the age of earlier edits counts from the correction")
            { fixture in
                let (id, _) = try fixture.createUser()
                let future = fixture.now().advanced(by: .seconds(86_400 * 365))
                _ = try fixture.store.commit(
                    [.update("users", id, ["age": .integer(1)])], in: fixture.space, now: future)
                let now = fixture.now()
                _ = try fixture.store.commit([.update("users", id, ["age": .integer(2)])], in: fixture.space, now: now)
                let stamps = try fixture.store.outbox(limit: 10).map { $0.transaction.mutations[0].time.wall }
                try fixture.expect(stamps.last, is: now, "the stamp after the correction")
                let later = now.advanced(by: .seconds(100))
                let batch = try fixture.store.takeBatch(BatchLimit(transactions: 9, bytes: 99_999), now: later)
                let ages = batch?.transactions.map(\.age) ?? []
                try fixture.expect(ages.last, is: .seconds(100), "the age of the last transaction")
                try fixture.expect(ages.allSatisfy { $0 ?? .zero >= .seconds(100) }, "the ages are \(ages)")
            },
        ]
    }
}

extension StoreFixture {
    /// Returns the fields of a user as they are shown now.
    fileprivate func seen(_ id: RecordID) throws -> [FieldName: SeenField] {
        guard let user = try user(id) else { return [:] }
        return ["username": user.seenField(at: 0), "age": user.seenField(at: 1)]
    }

    /// Returns the conflicts of the newest journal entry.
    fileprivate func overwritten() throws -> [FieldConflict] {
        let entry = try store.journal(state: nil, limit: 1).first
        if case .overwritten(let conflicts, _)? = entry?.event { return conflicts }
        throw ConformanceViolation(rule: rule, detail: "the journal has \(String(describing: entry))")
    }

    /// Replaces the name eve by the edit of an author who saw other fields, and expects that the journal has the name
    /// and restores it.
    fileprivate func expectNoted(_ id: RecordID, seen: [FieldName: SeenField]) throws {
        _ = try store.commit(
            [.update("users", id, ["username": .text("bo"), "age": .integer(4)])],
            seen: [RecordAddress("users", id): seen], in: space, now: now())
        let conflicts = try overwritten()
        try expect(conflicts.map(\.base), is: [.text("ada")], "the values that the author saw")
        try expect(conflicts.map(\.loser.value), is: [.text("eve")], "the values that gave way")
        try expect(conflicts.map(\.winner.value), is: [.text("bo")], "the values that replaced them")
        for entry in try store.journal(state: nil, limit: 1) {
            _ = try store.restore(journal: entry.number, now: now(), newID: newID)
        }
        try expect(try name(id), is: .text("eve"), "the restored value")
        try expect(try user(id)?.values[1], is: FieldValue.integer(4), "the other value")
    }
}

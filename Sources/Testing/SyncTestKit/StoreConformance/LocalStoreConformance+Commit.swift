import SyncCore
import SyncModel

// Local writes.
extension LocalStoreConformance {
    var commitChecks: [Check] {
        [
            Check("the server's record is read without the pending changes of this device") { world in
                let (mine, _) = try world.createUser("mine")
                try world.expect(try world.store.shownRecord("users", mine), is: nil, "what no server has shown")
                let id = try world.syncedUser("theirs")
                try world.expect(
                    try world.store.shownRecord("users", id)?.values[0], is: .text("theirs"), "the settled record")
                try world.commit(.update("users", id, ["username": .text("edited")]))
                try world.expect(try world.name(id), is: .text("edited"), "the current record")
                try world.expect(
                    try world.store.shownRecord("users", id)?.values[0], is: .text("theirs"), "the server's record")
                try world.pull(world.feed([world.at(2, world.renamed(id, "newer"))], to: 2))
                try world.expect(
                    try world.store.shownRecord("users", id)?.values[0], is: .text("newer"), "the record as it is now")
                try world.pull(world.feed([world.at(3, world.deleted(id))], to: 3))
                try world.expect(try world.store.shownRecord("users", id), is: nil, "the deleted record")
            },
            Check("a created record is read at once, pending and without a uid") { world in
                let (id, sequence) = try world.createUser("ada")
                let record = try world.user(id)
                try world.expect(record?.values, is: [.text("ada"), .null, .null, .null], "the record")
                try world.expect(record?.uid, is: UID.none, "its uid")
                try world.expect(try world.store.isPending("users", id), is: true, "isPending")
                try world.expect(try world.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                let entries = try world.store.outbox(limit: 10)
                try world.expect(entries.map(\.sequence), is: [sequence], "the outbox")
                try world.expect(try world.store.outboxSummary().waiting, is: 1, "the count of waiting entries")
            },
            Check("the outbox is read in parts, oldest first") { world in
                let sequences = try (0..<5).map { try world.createUser("user \($0)").1 }
                var found: [OutboxSequence] = []
                while true {
                    let part = try world.store.outbox(after: found.last, limit: 2).map(\.sequence)
                    guard !part.isEmpty else { break }
                    try world.expect(part.count <= 2, "a part has \(part.count) entries, 2 at most")
                    found += part
                }
                try world.expect(found, is: sequences, "all parts")
            },
            Check("a mutation carries what its user had seen") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("eve"), "age": .integer(3)]))
                let intent = try world.store.outbox(limit: 1).first?.transaction.mutations.first?.intent
                let expected = Mutation.Intent.update([
                    FieldEdit(field: "age", value: .integer(3), before: .null, seen: Version(1)),
                    FieldEdit(field: "username", value: .text("eve"), before: .text("ada"), seen: Version(1)),
                ])
                try world.expect(intent, is: expected, "the mutation")
            },
            Check("edits that change nothing write nothing") { world in
                let (id, _) = try world.createUser("ada")
                let before = try world.store.outbox(limit: 10)
                try world.expect(
                    try world.commit(.update("users", id, ["username": .text("ada")])) == nil, "an entry was written")
                try world.expect(try world.commit() == nil, "an empty commit wrote an entry")
                try world.expect(try world.store.outbox(limit: 10), is: before, "the outbox")
            },
            Check("several edits of one record are one mutation") { world in
                let id = world.id()
                try world.commit(
                    .create("users", id, ["username": .text("a")]), .update("users", id, ["username": .text("b")]),
                    .update("users", id, ["age": .integer(2)]))
                let mutations = try world.store.outbox(limit: 1).first?.transaction.mutations ?? []
                try world.expect(
                    mutations.map(\.intent), is: [.create(["username": .text("b"), "age": .integer(2)])],
                    "the mutations")
                let ghost = world.id()
                let nothing = try world.commit(
                    .create("users", ghost, ["username": .text("a")]), .delete("users", ghost))
                try world.expect(nothing == nil, "a record made and deleted at once was written")
            },
            Check("a circle of references is created in one transaction") { world in
                let user = world.id()
                let avatar = world.id()
                try world.commit(
                    .create("users", user, ["username": .text("ada"), "avatar": .reference(avatar)]),
                    .create("avatars", avatar, ["author": .reference(user)]))
                try world.expect(try world.user(user)?.values[3], is: .reference(avatar), "the user's avatar")
            },
            Check("an invalid edit is refused, and nothing is written") { world in
                let (id, _) = try world.createUser("ada")
                let absent = world.id()
                let good = RecordEdit.create("users", world.id(), ["username": .text("good")])
                let outbox = try world.store.outbox(limit: 10)
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
                    try world.expect(code) {
                        _ = try world.store.commit([good, edit], in: world.space, now: world.now())
                    }
                    try world.expect(try world.store.outbox(limit: 10), is: outbox, "the outbox after \(edit)")
                    let count = try world.store.count(matching: RecordQuery("users"))
                    try world.expect(count, is: 1, "the number of users after \(edit)")
                }
            },
            Check("a record that another needs is not deleted, except with it") { world in
                let (user, _) = try world.createUser()
                let avatar = world.id()
                try world.commit(.create("avatars", avatar, ["author": .reference(user)]))
                try world.expect(.stillReferenced) {
                    _ = try world.store.commit([.delete("users", user)], in: world.space, now: world.now())
                }
                try world.commit(.delete("users", user), .delete("avatars", avatar))
                try world.expect(try world.user(user) == nil, "the user is still there")
            },
            Check("an id is not used again after a delete") { world in
                let (id, _) = try world.createUser()
                try world.commit(.delete("users", id))
                try world.expect(.duplicateRecord) {
                    _ = try world.store.commit(
                        [.create("users", id, ["username": .text("x")])], in: world.space, now: world.now())
                }
            },
            Check("updates that were never sent are joined, and keep what the first had seen") { world in
                let id = try world.syncedUser("v0")
                let first = try world.written(.update("users", id, ["username": .text("v1")]))
                for round in 2...5 {
                    let next = try world.written(.update("users", id, ["username": .text("v\(round)")]))
                    try world.expect(next, is: first, "the entry of rename \(round)")
                }
                let edits = try world.store.outbox(limit: 10)
                try world.expect(edits.count, is: 1, "the entries")
                try world.expect(
                    edits.first?.transaction.mutations.first?.intent,
                    is: .update([
                        FieldEdit(field: "username", value: .text("v5"), before: .text("v0"), seen: Version(1))
                    ]), "the joined mutation")
                _ = try world.push()
                let later = try world.written(.update("users", id, ["username": .text("v6")]))
                try world.expect(later != first, "an update was joined to an entry that was sent")
            },
            Check("an older edit of another field stays apart, with its own time") { world in
                let id = try world.syncedUser()
                let first = try world.written(.update("users", id, ["username": .text("bo")]))
                let second = try world.written(.update("users", id, ["age": .integer(3)]))
                try world.expect(first != second, "an edit of one field made that of another look as new as itself")
                let both = try world.written(.update("users", id, ["age": .integer(4), "username": .text("cy")]))
                try world.expect(both, is: second, "the entry of an edit that writes all of the last one again")
            },
            Check("an edit over a pending one has not seen what the server has shown since") { world in
                let id = try world.syncedUser()
                try world.commit(.update("users", id, ["username": .text("bo")]))
                _ = try world.push()
                try world.pull(world.feed([world.at(2, world.renamed(id, "eve"))], to: 2))
                try world.commit(.update("users", id, ["username": .text("cy"), "age": .integer(3)]))
                try world.expect(
                    try world.store.outbox(limit: 9).last?.transaction.mutations.first?.intent,
                    is: .update([
                        FieldEdit(field: "age", value: .integer(3), before: .null, seen: Version(1)),
                        FieldEdit(field: "username", value: .text("cy"), before: .text("bo"), seen: Version(1)),
                    ]), "the second edit")
            },
            Check("stamps come after what a server has shown, also where the device's clock is slow") { world in
                let id = try world.syncedUser()
                let ahead = WallTime(milliseconds: world.now().milliseconds + 30_000)
                let page = world.feed([world.at(2, world.renamed(id, "eve"))], to: 2)
                try world.pull(
                    PullPage(
                        space: page.space, epoch: page.epoch, serverTime: HybridTime(wall: ahead),
                        content: page.content, cursor: page.cursor, version: page.version, head: page.head,
                        hasMore: false))
                try world.commit(.update("users", id, ["age": .integer(3)]))
                let time = try world.store.outbox(limit: 1)[0].transaction.mutations[0].time
                try world.expect(time > HybridTime(wall: ahead), "the stamp \(time) is not after \(ahead)")
            },
            Check("an edit that no longer refers to a record does not depend on it") { world in
                let user = try world.syncedUser()
                let avatar = world.id()
                let creation = try world.written(.create("avatars", avatar, ["author": .reference(user)]))
                let edit = try world.written(.update("users", user, ["avatar": .reference(avatar)]))
                let joined = try world.written(.update("users", user, ["avatar": .null, "age": .integer(3)]))
                try world.expect(joined, is: edit, "the entry of the second edit")
                try world.store.cancel(creation, now: world.now())
                try world.expect(try world.store.fate(of: edit), is: .pending(.waiting), "the fate of the edit")
            },
            Check("updates of different records, and deletes, stay apart") { world in
                let one = try world.syncedUser("one")
                let two = world.id()
                try world.pull(world.feed([world.at(2, world.created(two, uid: 8, "two"))], to: 2))
                let first = try world.written(.update("users", one, ["age": .integer(1)]))
                let second = try world.written(.update("users", two, ["age": .integer(1)]))
                let third = try world.written(.delete("users", two))
                try world.expect(Set([first, second, third]).count, is: 3, "the number of entries")
            },
            Check("stamps grow, even when the wall clock goes back a little") { world in
                let (id, _) = try world.createUser()
                let early = world.now().advanced(by: .seconds(-50))
                _ = try world.push()
                _ = try world.store.commit([.update("users", id, ["age": .integer(1)])], in: world.space, now: early)
                let times = try world.store.outbox(limit: 10).map { $0.transaction.mutations[0].time }
                try world.expect(times[0] < times[1], "the stamps are \(times)")
            },
            Check("a clock that was far ahead heals, and what it stamped is no older than its correction") { world in
                let (id, _) = try world.createUser()
                let future = world.now().advanced(by: .seconds(86_400 * 365))
                _ = try world.store.commit([.update("users", id, ["age": .integer(1)])], in: world.space, now: future)
                let now = world.now()
                _ = try world.store.commit([.update("users", id, ["age": .integer(2)])], in: world.space, now: now)
                let stamps = try world.store.outbox(limit: 10).map { $0.transaction.mutations[0].time.wall }
                try world.expect(stamps.last, is: now, "the stamp after the correction")
                let later = now.advanced(by: .seconds(100))
                let batch = try world.store.takeBatch(BatchLimit(transactions: 9, bytes: 99_999), now: later)
                let ages = batch?.transactions.map(\.age) ?? []
                try world.expect(ages.last, is: .seconds(100), "the age of the last transaction")
                try world.expect(ages.allSatisfy { $0 ?? .zero >= .seconds(100) }, "the ages are \(ages)")
            },
            Check("queries compare bytes, and order by id, uid or field") { world in
                let composed = "caf\u{E9}"
                let decomposed = "cafe\u{301}"
                let (one, _) = try world.createUser(composed)
                let (two, _) = try world.createUser(decomposed)
                let (three, _) = try world.createUser("zoe")
                func ids(_ query: RecordQuery) throws -> [RecordID] {
                    try world.store.records(matching: query).map(\.id)
                }
                let found = try ids(RecordQuery("users", where: [.init("username", equals: .text(composed))]))
                try world.expect(found, is: [one], "the users called \(composed)")
                try world.expect(try ids(RecordQuery("users")), is: [one, two, three].sorted(), "users by id")
                let named = try ids(RecordQuery("users", order: .field("username")))
                try world.expect(named, is: [two, one, three], "users by name")
                let page = try ids(RecordQuery("users", limit: 1, offset: 1))
                try world.expect(page, is: [[one, two, three].sorted()[1]], "the second user")
                let none = RecordQuery("users", where: [.init("age", equals: .null)], limit: 1)
                try world.expect(try world.store.count(matching: none), is: 3, "the users without an age")
                try world.expect(.invalidValue) {
                    _ = try world.store.records(matching: RecordQuery("users", order: .field("no_such")))
                }
                try world.expect(.unknownCollection) {
                    _ = try world.store.records(matching: RecordQuery("planets"))
                }
            },
            Check("values of every type come back as they were") { world in
                let (user, _) = try world.createUser("n\u{E4}me \u{1F3DD}")
                let avatar = world.id()
                let patch: Patch = [
                    "title": .text(""), "author": .reference(user), "scale": .real(0.1),
                    "kind": .json("{\"a\":[1,null]}"),
                ]
                try world.commit(
                    .create("avatars", avatar, patch),
                    .update(
                        "users", user, ["age": .integer(.min), "active": .boolean(false), "avatar": .reference(avatar)])
                )
                try world.expect(
                    try world.store.record("avatars", .id(avatar))?.values,
                    is: [.text(""), .reference(user), .real(0.1), .json("{\"a\":[1,null]}")], "the avatar")
                try world.expect(
                    try world.user(user)?.values,
                    is: [.text("n\u{E4}me \u{1F3DD}"), .integer(.min), .boolean(false), .reference(avatar)], "the user")
                try world.commit(.update("users", user, ["age": .null]))
                try world.expect(try world.user(user)?.values[1], is: .null, "a cleared field")
            },
        ]
    }
}

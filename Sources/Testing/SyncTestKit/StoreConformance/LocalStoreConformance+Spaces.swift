import SyncCore
import SyncModel

// A record and everything that it refers to live in the same space.
extension LocalStoreConformance {
    var spaceChecks: [Check] {
        [
            Check("a record is changed in its own space alone") { fixture in
                let (id, _) = try fixture.createUser()
                try fixture.expect(try fixture.store.space(of: "users", id), is: fixture.space, "its space")
                try fixture.expect(try fixture.store.space(of: "users", fixture.id()), is: nil, "the space of nothing")
                let edits: [(StoreError.Code, RecordEdit)] = [
                    (.missingRecord, .update("users", id, ["age": .integer(1)])),
                    (.missingRecord, .delete("users", id)),
                    (.duplicateRecord, .create("users", id, ["username": .text("twin")])),
                ]
                for (code, edit) in edits {
                    try fixture.expect(code) {
                        _ = try fixture.store.commit([edit], in: "elsewhere", now: fixture.now())
                    }
                }
                try fixture.expect(try fixture.store.outboxSummary().waiting, is: 1, "the count of waiting entries")
            },
            Check("a record cannot refer to a record of another space") { fixture in
                let (author, _) = try fixture.createUser()
                try fixture.expect(.danglingReference) {
                    _ = try fixture.store.commit(
                        [.create("avatars", fixture.id(), ["author": .reference(author)])], in: "elsewhere",
                        now: fixture.now())
                }
            },
            Check("the server's record stays in its space when the same id is rejected in another") { fixture in
                let (id, _) = try fixture.createUser("mine")
                try fixture.sendHello()
                let batch = try fixture.push()
                let theirs = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "theirs")])
                try fixture.pull(fixture.snapshot([theirs], at: 1, in: "elsewhere"))
                try fixture.expect(try fixture.name(id), is: .text("theirs"), "its name before the response")
                let mine = RecordEdit.update("users", id, ["age": .integer(9)])
                let later = try fixture.written(mine, in: "elsewhere")
                try fixture.response(batch.transactions[0].number, fixture.rejected(.duplicateRecord))
                try fixture.expect(try fixture.name(id), is: .text("theirs"), "its name")
                try fixture.expect(try fixture.store.space(of: "users", id), is: "elsewhere", "its space")
                try fixture.expect(
                    try fixture.store.fate(of: later), is: .pending(.waiting), "the fate of an edit there")
                try fixture.store.cancel(later, now: fixture.now())

                // A snapshot of a space that the record was never in does not remove it.
                try fixture.pull(fixture.snapshot([], at: 1))
                try fixture.expect(try fixture.name(id), is: .text("theirs"), "its name after the snapshot")
                let edit = RecordEdit.update("users", id, ["age": .integer(1)])
                _ = try fixture.store.commit([edit], in: "elsewhere", now: fixture.now())
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.pull(fixture.snapshot([], at: 1))
                try fixture.expect(try fixture.name(id), is: .text("theirs"), "its name while it is edited")
            },
            Check("an entry of the journal keeps no values of a record that another space has under the same id") {
                fixture in
                let (id, _) = try fixture.createUser("mine")
                try fixture.commit(.create("avatars", fixture.id(), ["author": .reference(id)]))
                try fixture.sendHello()
                let batch = try fixture.push()
                let theirs = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "theirs")])
                try fixture.pull(fixture.snapshot([theirs], at: 1, in: "elsewhere"))
                for (sent, code) in zip(batch.transactions, [RejectionCode.duplicateRecord, .danglingReference]) {
                    try fixture.response(sent.number, fixture.rejected(code))
                }
                let entries = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(entries.map(\.records), is: [nil, nil], "the records of both entries")
                // The entry that creates the record is dismissed, so nothing can bring the record back.
                try fixture.store.dismiss(journal: entries[1].number)
                let error = #"restoring the picture of a record of another space"#
                do {
                    _ = try fixture.store.restore(journal: entries[0].number, now: fixture.now(), newID: fixture.newID)
                    try fixture.expect(false, error)
                } catch let failure as StoreError {
                    try fixture.expect(failure.code, is: .danglingReference, error)
                }
            },
            Check("a pending record is visible once a restored server has lost the same id in another space") {
                fixture in
                let (id, _) = try fixture.createUser("mine")
                try fixture.sendHello()
                let theirs = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "theirs")])
                try fixture.pull(fixture.snapshot([theirs], at: 1, in: "elsewhere"))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.pull(fixture.snapshot([], at: 1, of: restored, in: "elsewhere"))
                try fixture.expect(try fixture.name(id), is: .text("mine"), "its name")
                try fixture.expect(try fixture.store.space(of: "users", id), is: fixture.space, "its space")
                try fixture.expect(
                    try fixture.offers().map(\.patch), is: [["username": .text("theirs")]], "what is offered")
            },
            Check("a restored server gives the uid of a record in one space to one in another") { fixture in
                let (first, second) = (try fixture.syncedUser(), fixture.id())
                try fixture.pull(fixture.feed([fixture.at(2, fixture.created(second, uid: 8, "bo"))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                let (new, newer) = (fixture.id(), fixture.id())
                let shown = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(new, uid: 7, version: 2, "new")])
                try fixture.pull(fixture.snapshot([shown], at: 2, of: restored, in: "elsewhere"))
                let commit = fixture.at(3, fixture.created(newer, uid: 8, "newer"))
                try fixture.pull(fixture.feed([commit], to: 3, of: restored, in: "elsewhere"))
                let uids = try [first, second, new, newer].map { try fixture.user($0)?.uid }
                try fixture.expect(uids, is: [UID.none, UID.none, UID(7), UID(8)], "the uids")
            },
            Check("a record that a restored server creates in another space is new, and its former values are offered")
            { fixture in
                let id = try fixture.syncedUser("old")
                try fixture.pull(fixture.snapshot([], at: 1, in: "elsewhere"))
                var patch: Patch = ["age": .integer(40)]
                try fixture.pull(
                    fixture.feed(
                        [fixture.at(2, RecordChange(collection: "users", id: id, effect: .updated(patch)))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.pull(fixture.snapshot([], at: 3, of: restored, in: "elsewhere"))
                let commit = fixture.at(4, fixture.created(id, uid: 7, "new"))
                try fixture.pull(fixture.feed([commit], to: 4, of: restored, in: "elsewhere"))
                try fixture.expect(
                    try fixture.user(id)?.values, is: [.text("new"), .null, .null, .null], "the record")
                try fixture.expect(try fixture.store.space(of: "users", id), is: "elsewhere", "its space")
                patch.set("username", to: .text("old"))
                try fixture.expect(try fixture.offers().map(\.patch), is: [patch], "what is offered")
                try fixture.expect(
                    try fixture.offers().map(\.intent), is: [.create(patch)], "a record of its own space")
                let entry = try fixture.store.journal(state: .active, limit: 1)[0]
                guard case .lost(let transaction) = entry.event else { return }
                try fixture.expect(transaction.space, is: fixture.space, "the space to which the values belong")
                // The id is taken, so the record cannot come back under it.
                try fixture.expect(
                    Set(try fixture.store.obstacles(to: transaction).values), is: [.isElsewhere], "the obstacles")
                try fixture.expect(.duplicateRecord) {
                    _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                }
            },
            Check("a page that takes many records of a lost history away from another space needs consent") { fixture in
                let old = (0..<10).map { _ in fixture.id() }.sorted().enumerated().map { index, id in
                    fixture.shownUser(id, uid: Int64(index), version: 1, "old")
                }
                try fixture.sendHello()
                try fixture.pull(fixture.snapshot([SnapshotRows(collection: "users", records: old)], at: 1))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                let new = old.map { fixture.shownUser($0.id, uid: $0.uid.rawValue, version: 2, "new") }
                let page = fixture.snapshot(
                    [SnapshotRows(collection: "users", records: new)], at: 2, of: restored, in: "elsewhere")
                func name() throws -> FieldValue? { try fixture.user(old[3].id)?.values.first }
                let result = try fixture.pull(page, brake: DeleteBrake(records: 5, percent: 50))
                try fixture.expect(result, is: .braked(deletes: 10, of: 10), "the result without consent")
                try fixture.expect(try name(), is: .text("old"), "a record without consent")
                try fixture.expect(try fixture.offers(), is: [], "the offers without consent")
                try fixture.pull(page)
                try fixture.expect(try name(), is: .text("new"), "a record with consent")
                try fixture.expect(try fixture.offers().count, is: 10, "the offers with consent")
            },
        ]
    }
}

import SyncCore
import SyncModel

// A record and everything that it refers to live in the same space.
extension LocalStoreConformance {
    var spaceChecks: [Check] {
        [
            Check("a record is changed in its own space alone") { world in
                let (id, _) = try world.createUser()
                try world.expect(try world.store.space(of: "users", id), is: world.space, "its space")
                try world.expect(try world.store.space(of: "users", world.id()), is: nil, "the space of nothing")
                let edits: [(StoreError.Code, RecordEdit)] = [
                    (.missingRecord, .update("users", id, ["age": .integer(1)])),
                    (.missingRecord, .delete("users", id)),
                    (.duplicateRecord, .create("users", id, ["username": .text("twin")])),
                ]
                for (code, edit) in edits {
                    try world.expect(code) {
                        _ = try world.store.commit([edit], in: "elsewhere", now: world.now())
                    }
                }
                try world.expect(try world.store.outboxSummary().waiting, is: 1, "the count of waiting entries")
            },
            Check("a record cannot refer to a record of another space") { world in
                let (author, _) = try world.createUser()
                try world.expect(.danglingReference) {
                    _ = try world.store.commit(
                        [.create("avatars", world.id(), ["author": .reference(author)])], in: "elsewhere",
                        now: world.now())
                }
            },
            Check("the server's record stays in its space when the same id is rejected in another") { world in
                let (id, _) = try world.createUser("mine")
                try world.sendHello()
                let batch = try world.push()
                let theirs = SnapshotRows(
                    collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "theirs")])
                try world.pull(world.snapshot([theirs], at: 1, in: "elsewhere"))
                try world.expect(try world.name(id), is: .text("theirs"), "its name before the response")
                let mine = RecordEdit.update("users", id, ["age": .integer(9)])
                let later = try world.written(mine, in: "elsewhere")
                try world.response(batch.transactions[0].number, world.rejected(.duplicateRecord))
                try world.expect(try world.name(id), is: .text("theirs"), "its name")
                try world.expect(try world.store.space(of: "users", id), is: "elsewhere", "its space")
                try world.expect(try world.store.fate(of: later), is: .pending(.waiting), "the fate of an edit there")
                try world.store.cancel(later, now: world.now())

                // A snapshot of a space that the record was never in does not remove it.
                try world.pull(world.snapshot([], at: 1))
                try world.expect(try world.name(id), is: .text("theirs"), "its name after the snapshot")
                let edit = RecordEdit.update("users", id, ["age": .integer(1)])
                _ = try world.store.commit([edit], in: "elsewhere", now: world.now())
                try world.store.resetCursor(of: world.space)
                try world.pull(world.snapshot([], at: 1))
                try world.expect(try world.name(id), is: .text("theirs"), "its name while it is edited")
            },
            Check("a pending record is visible once a restored server has lost the same id in another space") {
                world in
                let (id, _) = try world.createUser("mine")
                try world.sendHello()
                let theirs = SnapshotRows(
                    collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "theirs")])
                try world.pull(world.snapshot([theirs], at: 1, in: "elsewhere"))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                try world.pull(world.snapshot([], at: 1, of: restored, in: "elsewhere"))
                try world.expect(try world.name(id), is: .text("mine"), "its name")
                try world.expect(try world.store.space(of: "users", id), is: world.space, "its space")
                try world.expect(
                    try world.offers().map(\.patch), is: [["username": .text("theirs")]], "what is offered")
            },
            Check("a restored server gives the uid of a record in one space to one in another") { world in
                let (first, second) = (try world.syncedUser(), world.id())
                try world.pull(world.feed([world.at(2, world.created(second, uid: 8, "bo"))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                let (new, newer) = (world.id(), world.id())
                let shown = SnapshotRows(
                    collection: "users", records: [world.shownUser(new, uid: 7, version: 2, "new")])
                try world.pull(world.snapshot([shown], at: 2, of: restored, in: "elsewhere"))
                let commit = world.at(3, world.created(newer, uid: 8, "newer"))
                try world.pull(world.feed([commit], to: 3, of: restored, in: "elsewhere"))
                let uids = try [first, second, new, newer].map { try world.user($0)?.uid }
                try world.expect(uids, is: [UID.none, UID.none, UID(7), UID(8)], "the uids")
            },
            Check("a record that a restored server creates in another space is new, and its former values are offered")
            { world in
                let id = try world.syncedUser("old")
                try world.pull(world.snapshot([], at: 1, in: "elsewhere"))
                var patch: Patch = ["age": .integer(40)]
                try world.pull(
                    world.feed(
                        [world.at(2, RecordChange(collection: "users", id: id, effect: .updated(patch)))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                try world.pull(world.snapshot([], at: 3, of: restored, in: "elsewhere"))
                let commit = world.at(4, world.created(id, uid: 7, "new"))
                try world.pull(world.feed([commit], to: 4, of: restored, in: "elsewhere"))
                try world.expect(
                    try world.user(id)?.values, is: [.text("new"), .null, .null, .null], "the record")
                try world.expect(try world.store.space(of: "users", id), is: "elsewhere", "its space")
                patch.set("username", to: .text("old"))
                try world.expect(try world.offers().map(\.patch), is: [patch], "what is offered")
            },
        ]
    }
}

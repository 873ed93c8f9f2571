import SyncCore
import SyncModel

// A device follows spaces, and leaves them again.
extension LocalStoreConformance {
    var followChecks: [Check] {
        [
            Check("a space is followed once, and from the first commit in it") { world in
                try world.expect(try world.store.follow("team"), is: true, "the first follow")
                try world.expect(try world.store.follow("team"), is: false, "the second follow")
                _ = try world.written(.create("users", world.id(), ["username": .text("ned")]), in: "work")
                let spaces = try world.store.followedSpaces()
                try world.expect(spaces.map(\.space), is: [world.space, "team", "work"], "the spaces")
                try world.expect(spaces.map(\.isComplete), is: [false, false, false], "which are complete")
                try world.expect(try world.store.session().spaces, is: spaces, "the spaces of the session")
            },
            Check("an unfollowed space leaves with its records, and nothing else does") { world in
                let own = try world.syncedUser("own")
                let (shared, gone) = (world.id(), world.id())
                let rows = SnapshotRows(
                    collection: "users",
                    records: [
                        world.shownUser(shared, uid: 8, version: 1, "shared"),
                        world.shownUser(gone, uid: 9, version: 1, "gone"),
                    ].sorted { $0.id < $1.id })
                try world.pull(world.snapshot([rows], at: 1, in: "team"))
                try world.expect(try world.store.unfollow("team"), is: 2, "the count of removed records")
                try world.expect(try world.store.unfollow("team"), is: nil, "a second time")
                try world.expect(try world.store.followedSpaces().map(\.space), is: [world.space], "the spaces")
                try world.expect(try world.user(shared), is: nil, "a record of the space")
                try world.expect(try world.name(own), is: .text("own"), "a record of another space")
                // Nothing of the first time is left that could be taken for proof.
                try world.pull(world.snapshot([rows], at: 1, in: "team"))
                try world.expect(try world.name(shared), is: .text("shared"), "the record, followed again")
                let stored = try world.store.followedSpaces().first { $0.space == "team" }
                try world.expect(stored?.isComplete, is: true, "whether the space is complete")
            },
            Check("a space is not unfollowed while only this device has something of it") { world in
                try world.sendHello()
                let id = world.id()
                let write = try world.written(.create("users", id, ["username": .text("ned")]), in: "team")
                try world.expect(.unsentWrites) { _ = try world.store.unfollow("team") }
                let batch = try world.push()
                try world.expect(.unsentWrites) { _ = try world.store.unfollow("team") }
                try world.response(
                    batch.transactions[0].number,
                    world.applied(1, uids: [AssignedUID(collection: "users", record: id, uid: UID(7))]))
                // The server has it. Whether this device has seen it there does not matter anymore.
                try world.expect(try world.store.unfollow("team") != nil, is: true, "whether the space is left")
                try world.expect(try world.user(id), is: nil, "the record")
                try world.expect(try world.store.fate(of: write), is: .confirmed, "the fate of the write")
                try world.expect(try world.store.outboxSummary(), is: OutboxSummary(), "the outbox")
            },
            Check("a space is not unfollowed while the journal offers what a restored server has lost of it") { world in
                try world.sendHello()
                let id = world.id()
                let rows = SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "ned")])
                try world.pull(world.snapshot([rows], at: 1, in: "team"))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                try world.pull(world.snapshot([], at: 1, of: restored, in: "team"))
                try world.expect(.unsentWrites) { _ = try world.store.unfollow("team") }
                for entry in try world.store.journal(state: .active, limit: 9) {
                    try world.store.dismiss(journal: entry.number)
                }
                try world.expect(try world.store.unfollow("team") != nil, is: true, "whether the space is left")
            },
            Check("rejected transactions stay in the journal when their space is unfollowed") { world in
                try world.sendHello()
                let write = try world.written(
                    .create("users", world.id(), ["username": .text("ned")]), in: "team")
                let batch = try world.push()
                try world.response(batch.transactions[0].number, world.rejected())
                _ = try world.store.unfollow("team")
                guard case .rejected(let entry) = try world.store.fate(of: write) else {
                    throw ConformanceViolation(rule: world.rule, detail: "the rejected transaction is gone")
                }
                // Restoring it writes in the space, which follows it again.
                let again = try world.store.restore(journal: entry.number, now: world.now(), newID: world.newID)
                try world.expect(again.count, is: 1, "the count of restored transactions")
                try world.expect(
                    try world.store.followedSpaces().map(\.space), is: [world.space, "team"], "the spaces")
            },
            Check("restoring a rejected edit of an unfollowed space names the space") { world in
                try world.sendHello()
                let id = world.id()
                let rows = SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "ned")])
                try world.pull(world.snapshot([rows], at: 1, in: "team"))
                _ = try world.written(.update("users", id, ["username": .text("nora")]), in: "team")
                try world.response(try world.push().transactions[0].number, world.rejected())
                _ = try world.store.unfollow("team")
                let entry = try world.store.journal(state: .active, limit: 1)[0]
                try world.expect(.missingRecord) {
                    _ = try world.store.restore(journal: entry.number, now: world.now(), newID: world.newID)
                }
                try world.store.follow("team")
                try world.pull(world.snapshot([rows], at: 1, in: "team"))
                _ = try world.store.restore(journal: entry.number, now: world.now(), newID: world.newID)
                try world.expect(try world.name(id), is: .text("nora"), "the restored name")
            },
            Check("nothing that was on its way brings an unfollowed space back") { world in
                try world.sendHello()
                let id = world.id()
                let rows = SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 7, version: 1, "ned")])
                try world.store.follow("team")
                _ = try world.store.unfollow("team")
                let late = world.snapshot([rows], at: 1, in: "team")
                _ = try world.store.apply(late, after: nil, brake: nil, now: world.now())
                try world.store.resetCursor(of: "team")
                _ = try world.store.vacate("team", of: world.epoch, brake: nil)
                try world.expect(try world.user(id), is: nil, "a record of the late page")
                try world.expect(try world.store.followedSpaces().map(\.space), is: [world.space], "the spaces")
            },
            Check("the default space is always followed") { world in
                try world.expect(.invalidValue) { _ = try world.store.unfollow(.default) }
                try world.expect(try world.store.followedSpaces().map(\.space), is: [world.space], "the spaces")
            },
        ]
    }
}

import SyncCore
import SyncModel

// A device follows spaces, and leaves them again.
extension LocalStoreConformance {
    /// A conflict of two edits of a name, as the server reports it.
    private func lostName(
        of id: RecordID, _ loser: String, over base: String, to winner: String, in fixture: StoreFixture<Store>
    ) throws -> FieldConflict {
        let stamp = Stamp(time: .zero, client: try fixture.store.session().identity.client)
        return FieldConflict(
            collection: "users", record: id, field: "username", base: .text(base),
            winner: Contender(value: .text(winner), stamp: stamp),
            loser: Contender(value: .text(loser), stamp: stamp), rule: .latestEdit)
    }

    /// Loses a merge of a name in the space "team".
    ///
    /// - Returns: the number of the journal entry.
    private func lostMerge(of id: RecordID, in fixture: StoreFixture<Store>) throws -> Int64 {
        _ = try fixture.written(.update("users", id, ["username": .text("mine")]), in: "team")
        let conflict = try lostName(of: id, "mine", over: "ned", to: "theirs", in: fixture)
        try fixture.response(
            try fixture.push().transactions[0].number, fixture.applied(2, conflicts: [conflict]))
        try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "theirs"))], to: 2, in: "team"))
        return try fixture.store.journal(state: .active, limit: 1)[0].number
    }

    /// Dismisses the active entries of the journal, except one.
    private func dismissAll(but kept: Int64? = nil, in fixture: StoreFixture<Store>) throws {
        for entry in try fixture.store.journal(state: .active, limit: 9) where entry.number != kept {
            try fixture.store.dismiss(journal: entry.number)
        }
    }

    var followChecks: [Check] {
        [
            Check("a space is followed once, and from the first commit in it") { fixture in
                try fixture.expect(try fixture.store.follow("team"), is: true, "the first follow")
                try fixture.expect(try fixture.store.follow("team"), is: false, "the second follow")
                _ = try fixture.written(.create("users", fixture.id(), ["username": .text("ned")]), in: "work")
                let spaces = try fixture.store.followedSpaces()
                try fixture.expect(spaces.map(\.space), is: [fixture.space, "team", "work"], "the spaces")
                try fixture.expect(spaces.map(\.isComplete), is: [false, false, false], "which are complete")
                try fixture.expect(try fixture.store.session().spaces, is: spaces, "the spaces of the session")
            },
            Check("an unfollowed space leaves with its records, and nothing else does") { fixture in
                let own = try fixture.syncedUser("own")
                let (shared, gone) = (fixture.id(), fixture.id())
                let rows = SnapshotRows(
                    collection: "users",
                    records: [
                        fixture.shownUser(shared, uid: 8, version: 1, "shared"),
                        fixture.shownUser(gone, uid: 9, version: 1, "gone"),
                    ].sorted { $0.id < $1.id })
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                try fixture.expect(try fixture.store.unfollow("team"), is: 2, "the count of removed records")
                try fixture.expect(try fixture.store.unfollow("team"), is: nil, "a second time")
                try fixture.expect(try fixture.store.followedSpaces().map(\.space), is: [fixture.space], "the spaces")
                try fixture.expect(try fixture.user(shared), is: nil, "a record of the space")
                try fixture.expect(try fixture.name(own), is: .text("own"), "a record of another space")
                // Nothing is left that would make the same snapshot look stale.
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                try fixture.expect(try fixture.name(shared), is: .text("shared"), "the record, followed again")
                let stored = try fixture.store.followedSpaces().first { $0.space == "team" }
                try fixture.expect(stored?.isComplete, is: true, "whether the space is complete")
            },
            Check("a space is not unfollowed while only this device has something of it") { fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let write = try fixture.written(.create("users", id, ["username": .text("ned")]), in: "team")
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                let batch = try fixture.push()
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                try fixture.response(
                    batch.transactions[0].number,
                    fixture.applied(1, uids: [AssignedUID(collection: "users", record: id, uid: UID(7))]))
                // The server has the write, so the device may leave the space before a pull has shown the write.
                try fixture.expect(try fixture.store.unfollow("team") != nil, is: true, "whether the space is left")
                try fixture.expect(try fixture.user(id), is: nil, "the record")
                try fixture.expect(try fixture.store.fate(of: write), is: .confirmed, "the fate of the write")
                try fixture.expect(try fixture.store.outboxSummary(), is: OutboxSummary(), "the outbox")
            },
            Check("a space is not unfollowed while the journal offers what a restored server has lost of it") {
                fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                // Only this device has the record, until the snapshot offers it in the journal.
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                try fixture.pull(fixture.snapshot([], at: 1, of: restored, in: "team"))
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                try dismissAll(in: fixture)
                try fixture.expect(try fixture.store.unfollow("team") != nil, is: true, "whether the space is left")
            },
            Check("own values that a restored server has lost are offered, also if the space was unfollowed before") {
                fixture in
                try fixture.sendHello()
                let id = fixture.id()
                func rows(_ version: Int64, _ name: String) -> SnapshotRows {
                    SnapshotRows(
                        collection: "users", records: [fixture.shownUser(id, uid: 7, version: version, name)])
                }
                try fixture.pull(fixture.snapshot([rows(1, "ned")], at: 1, in: "team"))
                _ = try fixture.written(.update("users", id, ["username": .text("mine")]), in: "team")
                try fixture.response(try fixture.push().transactions[0].number, fixture.applied(2))
                let renamed = fixture.at(2, fixture.renamed(id, "mine"))
                try fixture.pull(fixture.feed([renamed], to: 2, in: "team"))
                _ = try fixture.store.unfollow("team")
                // Another space must not take over the versions.
                try fixture.store.follow("work")
                try fixture.store.follow("team")
                try fixture.pull(fixture.snapshot([rows(2, "mine")], at: 2, in: "team"))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                // Others have written the field since the server was restored.
                try fixture.pull(fixture.snapshot([rows(9, "theirs")], at: 9, of: restored, in: "team"))
                try fixture.expect(try fixture.offers().map(\.record), is: [id], "what is offered")
            },
            Check("own values are offered, also if the space was unfollowed before the server had shown them") {
                fixture in
                try fixture.sendHello()
                let (mine, theirs) = (fixture.id(), fixture.id())
                func rows(at version: Int64, _ names: [RecordID: String]) -> SnapshotRows {
                    let records = names.sorted { $0.key < $1.key }.map { id, name in
                        fixture.shownUser(id, uid: id == mine ? 7 : 8, version: version, name)
                    }
                    return SnapshotRows(collection: "users", records: records)
                }
                try fixture.pull(
                    fixture.snapshot([rows(at: 1, [mine: "ned", theirs: "nora"])], at: 1, in: "team"))
                _ = try fixture.written(.update("users", mine, ["username": .text("mine")]), in: "team")
                _ = try fixture.written(.update("users", theirs, ["username": .text("loser")]), in: "team")
                let batch = try fixture.push()
                try fixture.response(batch.transactions[0].number, fixture.applied(2))
                let conflict = try lostName(of: theirs, "loser", over: "nora", to: "winner", in: fixture)
                try fixture.response(batch.transactions[1].number, fixture.applied(3, conflicts: [conflict]))
                try dismissAll(in: fixture)
                _ = try fixture.store.unfollow("team")
                try fixture.store.follow("team")
                try fixture.pull(
                    fixture.snapshot(
                        [rows(at: 2, [mine: "mine"]), rows(at: 3, [theirs: "winner"])], at: 3, in: "team"))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                // Others have written the fields since the server was restored.
                try fixture.pull(
                    fixture.snapshot(
                        [rows(at: 9, [mine: "newer", theirs: "newest"])], at: 9, of: restored, in: "team"))
                try fixture.expect(try fixture.offers().map(\.record), is: [mine], "what is offered")
            },
            Check("a space that was unfollowed is followed with its receipt, unless the history is another") {
                fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.written(.update("users", id, ["username": .text("mine")]), in: "team")
                let receipt = CommitReceipt(space: "team", version: Version(2), cursor: Cursor(rawValue: "receipt"))
                let number = try fixture.push().transactions[0].number
                _ = try fixture.store.record(
                    [TransactionResult(number: number, outcome: fixture.applied(2), receipt: receipt)],
                    of: try fixture.store.session().identity, now: fixture.now())
                func receiptAfterReturn() throws -> CommitReceipt? {
                    _ = try fixture.store.unfollow("team")
                    _ = try fixture.store.follow("team")
                    return try fixture.store.followedSpaces().first { $0.space == "team" }?.receipt
                }
                try fixture.expect(try receiptAfterReturn(), is: receipt, "the receipt")
                let renamed = fixture.at(3, fixture.renamed(id, "theirs"))
                try fixture.pull(fixture.snapshot([rows], at: 2, in: "team"))
                try fixture.pull(fixture.feed([renamed], to: 3, in: "team"))
                try fixture.expect(try receiptAfterReturn()?.version, is: Version(3), "the version of the cursor")
                _ = try fixture.store.unfollow("team")
                _ = try fixture.store.adopt(Epoch(rawValue: "restored"), as: fixture.account)
                try fixture.expect(try receiptAfterReturn(), is: nil, "the receipt after a new history")
            },
            Check("a space is not unfollowed while the journal has open entries about merges") {
                fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                let merge = try lostMerge(of: id, in: fixture)
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                try fixture.store.dismiss(journal: merge)
                try fixture.expect(try fixture.store.unfollow("team") != nil, is: true, "whether the space is left")
                try fixture.expect(try fixture.store.journalEntry(merge) == nil, is: true, "whether the entry is gone")

                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                let kept = try lostMerge(of: id, in: fixture)
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                try fixture.pull(fixture.snapshot([rows], at: 1, of: restored, in: "team"))
                try dismissAll(but: kept, in: fixture)
                try fixture.expect(.unsentWrites) { _ = try fixture.store.unfollow("team") }
                try fixture.store.dismiss(journal: kept)
                try fixture.expect(try fixture.store.unfollow("team") != nil, is: true, "whether the space is left")
            },
            Check("rejected transactions stay in the journal when their space is unfollowed") { fixture in
                try fixture.sendHello()
                let write = try fixture.written(
                    .create("users", fixture.id(), ["username": .text("ned")]), in: "team")
                let batch = try fixture.push()
                try fixture.response(batch.transactions[0].number, fixture.rejected())
                _ = try fixture.store.unfollow("team")
                guard case .rejected(let entry) = try fixture.store.fate(of: write) else {
                    throw ConformanceViolation(rule: fixture.rule, detail: "the rejected transaction is gone")
                }
                // Restoring the entry writes in the space, and the device follows the space again.
                let again = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(again.count, is: 1, "the count of restored transactions")
                try fixture.expect(
                    try fixture.store.followedSpaces().map(\.space), is: [fixture.space, "team"], "the spaces")
            },
            Check("restoring a rejected edit of an unfollowed space names the space") { fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.written(.update("users", id, ["username": .text("nora")]), in: "team")
                try fixture.response(try fixture.push().transactions[0].number, fixture.rejected())
                _ = try fixture.store.unfollow("team")
                let entry = try fixture.store.journal(state: .active, limit: 1)[0]
                try fixture.expect(.missingRecord) {
                    _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                }
                try fixture.store.follow("team")
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.name(id), is: .text("nora"), "the restored name")
            },
            Check("restoring a rejected delete of an unfollowed space names the space") { fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.written(.delete("users", id), in: "team")
                try fixture.response(try fixture.push().transactions[0].number, fixture.rejected())
                _ = try fixture.store.unfollow("team")
                let entry = try fixture.store.journal(state: .active, limit: 1)[0]
                try fixture.expect(.missingRecord) {
                    _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                }
                try fixture.store.follow("team")
                try fixture.pull(fixture.snapshot([rows], at: 1, in: "team"))
                _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(try fixture.store.record("users", .id(id)) == nil, is: true, "whether it is deleted")
            },
            Check("restoring a creation in an unfollowed space keeps its references") { fixture in
                try fixture.sendHello()
                let (id, author, target) = (fixture.id(), fixture.id(), fixture.id())
                let avatar: [RecordChange] = [
                    fixture.created(author, uid: 7, "rob"),
                    RecordChange(
                        collection: "avatars", id: target,
                        effect: .created(uid: UID(7), ["title": .text("wolf"), "author": .reference(author)])),
                ]
                let commits = [Commit(version: Version(1), changes: avatar)]
                try fixture.pull(fixture.snapshot([], at: 0, in: "team"))
                try fixture.pull(fixture.feed(commits, to: 1, in: "team"))
                let patch: Patch = ["username": .text("ned"), "avatar": .reference(target)]
                _ = try fixture.written(.create("users", id, patch), in: "team")
                try fixture.response(try fixture.push().transactions[0].number, fixture.rejected())
                _ = try fixture.store.unfollow("team")
                let entry = try fixture.store.journal(state: .active, limit: 1)[0]
                try fixture.expect(.danglingReference) {
                    _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                }
                try fixture.store.follow("team")
                try fixture.pull(fixture.snapshot([], at: 0, in: "team"))
                try fixture.pull(fixture.feed(commits, to: 1, in: "team"))
                _ = try fixture.store.restore(journal: entry.number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(
                    try fixture.store.record("users", .id(id))?.values.last, is: .reference(target), "the reference")
            },
            Check("nothing that was on its way brings an unfollowed space back") { fixture in
                try fixture.sendHello()
                let id = fixture.id()
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "ned")])
                try fixture.store.follow("team")
                _ = try fixture.store.unfollow("team")
                let late = fixture.snapshot([rows], at: 1, in: "team")
                _ = try fixture.store.apply(late, after: nil, brake: nil, now: fixture.now())
                try fixture.store.resetCursor(of: "team")
                _ = try fixture.store.vacate("team", of: fixture.epoch, brake: nil, now: fixture.now())
                try fixture.expect(try fixture.user(id), is: nil, "a record of the late page")
                try fixture.expect(try fixture.store.followedSpaces().map(\.space), is: [fixture.space], "the spaces")
            },
            Check("the default space is always followed") { fixture in
                try fixture.expect(.invalidValue) { _ = try fixture.store.unfollow(.default) }
                try fixture.expect(try fixture.store.followedSpaces().map(\.space), is: [fixture.space], "the spaces")
            },
        ]
    }
}

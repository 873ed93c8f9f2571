import SyncCore
import SyncModel

// Snapshots, including those taken beside live rows.
extension LocalStoreConformance {
    var snapshotChecks: [Check] {
        [
            Check("rows of a snapshot grow over its pages, also in another process") { world in
                try world.sendHello()
                let (a, b) = (world.id(), world.id())
                func rows(_ ids: RecordID..., in collection: CollectionName = "users") -> [SnapshotRows] {
                    [
                        SnapshotRows(
                            collection: collection,
                            records: ids.map { id in
                                collection == "users"
                                    ? world.shownUser(id, uid: id == a ? 1 : 2, version: 1, "ada")
                                    : Record(
                                        id: id, uid: UID(1), version: Version(1),
                                        values: [.null, .reference(a), .null, .null])
                            })
                    ]
                }
                func next(_ groups: [SnapshotRows], first: Bool = false) throws -> ApplyResult {
                    try world.pull(world.snapshot(groups, at: 1, first: first, last: false))
                }
                _ = try next(rows(b), first: true)
                for groups in [rows(b), rows(a)] {
                    try world.expect(.contradiction) {
                        do { _ = try next(groups) } catch let failure as StoreError { throw failure } catch {}
                    }
                }
                _ = try next(rows(world.id(), in: "avatars"))
                try world.expect(.contradiction) {
                    do { _ = try next(rows(world.id())) } catch let failure as StoreError { throw failure } catch {}
                }
                // A new snapshot starts over with its first row.
                try world.store.resetCursor(of: world.space)
                try world.pull(world.snapshot(rows(a, b), at: 1))
            },
            Check("the state of the contact with the server is stored, and not written twice") { world in
                try world.expect(try world.store.contact(), is: ServerContact(), "the contact")
                let at = world.now()
                try world.store.note(.failed(code: "unreachable", message: "refused"), now: at)
                try world.store.note(.failed(code: "unreachable", message: "refused"), now: world.now())
                try world.store.note(.paused(.seconds(60), by: "https://a.example"), now: at)
                let failure = ServerContact.Failure(code: "unreachable", message: "refused", at: at)
                let pause = ServerContact.Pause(
                    until: at.advanced(by: .seconds(60)), of: .seconds(60), by: "https://a.example")
                try world.expect(
                    try world.store.contact(), is: ServerContact(lastFailure: failure, pause: pause), "the contact")
                let synced = world.now()
                try world.store.note(.inSync, now: synced)
                try world.store.note(.inSync, now: world.now())
                try world.expect(try world.store.contact(), is: ServerContact(lastSync: synced), "the contact")
            },
            Check("a snapshot arrives in pages, and is complete once the feed has caught up") { world in
                let one = world.id()
                let two = world.id()
                try world.sendHello()
                try world.pull(
                    world.snapshot(
                        [SnapshotRows(collection: "users", records: [world.shownUser(one, uid: 1, version: 4, "one")])],
                        at: 5, last: false))
                try world.expect(try world.stored()?.isComplete, is: false, "isComplete after the first page")
                try world.expect(try world.name(one), is: .text("one"), "a record while the snapshot runs")
                // The server reads the second page later, so its rows are ahead of the feed.
                try world.pull(
                    world.snapshot(
                        [SnapshotRows(collection: "users", records: [world.shownUser(two, uid: 2, version: 7, "new")])],
                        at: 5, head: 7, first: false))
                try world.expect(try world.stored()?.isComplete, is: false, "isComplete before the feed")
                let ghost = world.id()
                try world.pull(
                    world.feed(
                        [
                            world.at(6, world.renamed(two, "old"), world.renamed(ghost, "ghost")),
                            world.at(7, world.renamed(two, "new"), world.deleted(ghost)),
                        ], to: 7))
                try world.expect(try world.stored()?.isComplete, is: true, "isComplete after the feed")
                try world.expect(try world.name(two), is: .text("new"), "the record that was ahead")
                try world.expect(try world.user(two)?.version, is: Version(7), "its version")
                try world.expect(try world.user(ghost) == nil, "a record that was deleted meanwhile is there")
            },
            Check("a later version that a snapshot has shown is not undone by the feed") { world in
                let id = world.id()
                try world.sendHello()
                try world.pull(
                    world.snapshot(
                        [SnapshotRows(collection: "users", records: [world.shownUser(id, uid: 1, version: 9, "late")])],
                        at: 7, head: 9))
                try world.pull(world.feed([world.at(8, world.renamed(id, "early"))], to: 8, head: 9))
                try world.expect(try world.name(id), is: .text("late"), "the name")
            },
            Check("values that only a lost history of the server has shown are offered in the journal") { world in
                let (ada, bo, cy, dee, flo) = (world.id(), world.id(), world.id(), world.id(), world.id())
                try world.sendHello()
                let shown = [
                    world.shownUser(ada, uid: 1, version: 5, "ada"), world.shownUser(bo, uid: 2, version: 6, "bo"),
                    world.shownUser(cy, uid: 3, version: 3, "cy"), world.shownUser(dee, uid: 4, version: 2, "dee"),
                    world.shownUser(flo, uid: 5, version: 6, "flo"),
                ]
                try world.pull(world.snapshot([SnapshotRows(collection: "users", records: shown)], at: 6))
                try world.commit(.delete("users", cy))
                // The backup was taken at version 4. After it was restored, dee was renamed and flo got an age.
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                var old = world.shownUser(flo, uid: 5, version: 7, "fay")
                old.values[1] = .integer(40)
                old.fieldVersions = [Version(3), Version(7), Version(3), Version(3)]
                let known = [
                    world.shownUser(ada, uid: 1, version: 1, "eva"), world.shownUser(dee, uid: 4, version: 5, "di"),
                    old,
                ]
                let page = world.snapshot([SnapshotRows(collection: "users", records: known)], at: 7, of: restored)
                try world.pull(page)
                try world.expect(try world.name(ada), is: .text("eva"), "what the backup has")
                try world.expect(try world.user(bo) == nil, "what the backup does not have is shown")
                let entries = try world.store.journal(state: .active, limit: 9)
                let offers = try world.offers()
                try world.expect(offers.map(\.record), is: [bo, ada, flo], "the records of the offers")
                try world.expect(
                    offers.map(\.patch),
                    is: [["username": .text("bo")], ["username": .text("ada")], ["username": .text("flo")]],
                    "their values")
                try world.expect(try world.store.outboxSummary().journal, is: 2, "the count of unseen entries")
                let parts = try entries.map {
                    try world.store.restore(journal: $0.number, now: world.now(), newID: world.newID).count
                }
                try world.expect(parts, is: [1, 2], "the transactions that the server may take or refuse alone")
                try world.expect(try world.name(bo), is: .text("bo"), "the record that was brought back")
                try world.expect(try world.name(ada), is: .text("ada"), "the name that was brought back")
                // Offers are made once: the next snapshot of this history adds none.
                try world.store.resetCursor(of: world.space)
                try world.pull(page)
                try world.expect(try world.store.journal(state: .active, limit: 9), is: [], "the journal")
            },
            Check("a value that this device wrote is offered after a restore, even where others have replaced it") {
                world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("mine")]))
                let batch = try world.push()
                _ = try world.response(batch.transactions[0].number, world.applied(2))
                try world.pull(world.feed([world.at(2, world.renamed(id, "mine"))], to: 2))
                // The age came from another device, which offers it itself.
                let aged = RecordChange(collection: "users", id: id, effect: .updated(["age": .integer(40)]))
                try world.pull(world.feed([world.at(3, aged)], to: 3))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                // Another device has changed both fields twice since the restore, without having seen the values here.
                var shown = world.shownUser(id, uid: 7, version: 5, "theirs")
                shown.values[1] = .integer(50)
                try world.pull(
                    world.snapshot([SnapshotRows(collection: "users", records: [shown])], at: 5, of: restored))
                try world.expect(
                    try world.offers().map(\.patch), is: [["username": .text("mine")]], "what the journal offers")
            },
            Check("a value of another device whose version a transaction without effect shares is not offered") {
                world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["active": .boolean(true)]))
                let batch = try world.push()
                // The edit lost, so its version is that of the newest commit, which is another device's.
                _ = try world.response(batch.transactions[0].number, world.applied(2))
                try world.pull(world.feed([world.at(2, world.renamed(id, "theirs"))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                let shown = world.shownUser(id, uid: 7, version: 5, "newer")
                try world.pull(
                    world.snapshot([SnapshotRows(collection: "users", records: [shown])], at: 5, of: restored))
                try world.expect(try world.offers(), is: [], "what the journal offers")
            },
            Check("a version that this device wrote in one lost history is another device's in the next") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("mine")]))
                let batch = try world.push()
                _ = try world.response(batch.transactions[0].number, world.applied(2))
                let other = world.created(world.id(), uid: 8, "bo")
                try world.pull(world.feed([world.at(2, world.renamed(id, "mine"), other)], to: 2))
                // The second history is lost, too, before it has shown every record.
                for (epoch, version, name) in [("second", Int64(2), "theirs"), ("third", 5, "newer")] {
                    let epoch = Epoch(rawValue: epoch)
                    _ = try world.store.adopt(epoch, as: world.account)
                    let rows = SnapshotRows(
                        collection: "users", records: [world.shownUser(id, uid: 7, version: version, name)])
                    try world.pull(world.snapshot([rows], at: version, last: false, of: epoch))
                }
                try world.expect(
                    try world.offers().map(\.patch), is: [["username": .text("mine")]], "what the journal offers")
            },
            Check("forgotten values are restored in parts, without references to missing records") { world in
                let (ada, dee, art, ghost) = (world.id(), world.id(), world.id(), world.id())
                let orphan = world.id()
                try world.sendHello()
                var user = world.shownUser(dee, uid: 2, version: 5, "dee")
                user.values[3] = .reference(ghost)
                let avatar = Record(
                    id: art, uid: UID(1), version: Version(5), values: [.null, .reference(ada), .null, .null])
                let groups = [
                    SnapshotRows(
                        collection: "users", records: [world.shownUser(ada, uid: 1, version: 1, "ada"), user]),
                    SnapshotRows(
                        collection: "avatars",
                        records: [
                            avatar,
                            Record(
                                id: orphan, uid: UID(3), version: Version(5),
                                values: [.null, .reference(ghost), .null, .null]),
                        ]),
                ]
                try world.pull(world.snapshot(groups, at: 5))
                let restored = Epoch(rawValue: "restored")
                _ = try world.store.adopt(restored, as: world.account)
                let known = SnapshotRows(
                    collection: "users", records: [world.shownUser(ada, uid: 1, version: 1, "ada")])
                try world.pull(world.snapshot([known], at: 1, of: restored))
                let offer = try world.store.journal(state: .active, limit: 9)
                try world.expect(offer.count, is: 1, "the count of offers")
                // The user that one lost avatar requires is deleted, too. Nothing is known of the one that the other
                // requires.
                try world.pull(world.feed([world.at(2, world.deleted(ada))], to: 2, of: restored))
                let sequences = try world.store.restore(journal: offer[0].number, now: world.now(), newID: world.newID)
                try world.expect(sequences.count, is: 2, "the count of transactions")
                try world.expect(try world.name(world.newID()), is: .text("ada"), "the author that is created again")
                try world.expect(
                    try world.store.record("avatars", .id(art))?.values[1], is: .reference(world.newID()),
                    "the author of the avatar")
                try world.expect(try world.store.record("avatars", .id(orphan)), is: nil, "the other avatar")
                try world.expect(try world.name(dee), is: .text("dee"), "the name")
                try world.expect(try world.user(dee)?.values[3], is: .null, "the reference to what is gone")
                let left = try world.store.journal(state: .active, limit: 9)
                try world.expect(left.count, is: 1, "the count of offers that are left")
                try world.expect(.danglingReference) {
                    _ = try world.store.restore(journal: left[0].number, now: world.now(), newID: world.newID)
                }
                try world.expect(
                    try world.store.journal(state: .active, limit: 9), is: left, "what is left, after it was refused")
            },
            Check("a page requested with another cursor changes nothing, and the response has the store's cursor") {
                world in
                let one = world.id()
                let two = world.id()
                try world.sendHello()
                let first = world.snapshot(
                    [SnapshotRows(collection: "users", records: [world.shownUser(one, uid: 1, version: 4, "one")])],
                    at: 5, last: false)
                let last = world.snapshot(
                    [SnapshotRows(collection: "users", records: [world.shownUser(two, uid: 2, version: 5, "two")])],
                    at: 5, first: false)
                try world.pull(first)
                // Another engine starts over, or has requested a later page: neither page continues the stored state.
                let stored = try world.stored()
                for (page, cursor) in [(first, nil), (last, Cursor(rawValue: "further on"))] {
                    let result = try world.store.apply(page, after: cursor, brake: nil, now: world.now())
                    guard case .applied(stored, _, 0) = result else {
                        throw ConformanceViolation(rule: world.rule, detail: "the result is \(result)")
                    }
                    try world.expect(try world.stored(), is: stored, "the stored space")
                }
                try world.expect(try world.user(two) == nil, "a page that continues nothing was applied")
                try world.pull(last)
                try world.expect(try world.name(one), is: .text("one"), "the first record")
                try world.expect(try world.name(two), is: .text("two"), "the last record")
            },
            Check("a snapshot older than what was shown before a reset is refused") { world in
                let id = try world.syncedUser("a")
                try world.pull(world.feed([world.at(2, world.renamed(id, "b"))], to: 2))
                try world.store.resetCursor(of: world.space)
                let old = world.snapshot([], at: 1)
                try world.expect(.contradiction) {
                    _ = try world.store.apply(old, after: nil, brake: nil, now: world.now())
                }
                try world.expect(try world.name(id), is: .text("b"), "the record")
                try world.pull(world.snapshot([], at: 2))
                try world.expect(try world.user(id) == nil, "what a new snapshot does not show is still there")
            },
            Check("a snapshot beside live rows removes what it does not show, and keeps pending writes") { world in
                let kept = try world.syncedUser("kept")
                let gone = world.id()
                let edited = world.id()
                let hidden = world.id()
                try world.pull(
                    world.feed(
                        [
                            world.at(
                                2, world.created(gone, uid: 8, "gone"), world.created(edited, uid: 9, "edited"),
                                world.created(hidden, uid: 10, "hidden"))
                        ], to: 2))
                try world.commit(.update("users", edited, ["age": .integer(5)]))
                try world.commit(.delete("users", hidden))
                let (mine, _) = try world.createUser("mine")
                try world.store.resetCursor(of: world.space)
                try world.expect(try world.stored()?.cursor == nil, "the cursor is still there")
                try world.expect(try world.user(gone) != nil, "rows went with the cursor")

                try world.pull(
                    world.snapshot(
                        [
                            SnapshotRows(
                                collection: "users", records: [world.shownUser(kept, uid: 7, version: 3, "kept2")])
                        ],
                        at: 5))
                try world.expect(try world.name(kept), is: .text("kept2"), "the shown record")
                try world.expect(try world.user(gone) == nil, "what was not shown is still there")
                try world.expect(try world.user(edited) == nil, "what was deleted under an edit is still there")
                try world.expect(try world.user(mine) != nil, "what was created here is gone")
                try world.expect(try world.store.outboxSummary().waiting, is: 3, "the count of waiting entries")
                for _ in 0..<3 { _ = try world.push() }
                try world.response(TransactionNumber(1), world.rejected())
                try world.expect(try world.user(hidden) == nil, "a record deleted on both sides came back")
            },
            Check("the brake stops a snapshot that would delete too much, and nothing is applied") { world in
                try world.sendHello()
                var changes: [RecordChange] = []
                var ids: [RecordID] = []
                for uid in 0..<10 {
                    ids.append(world.id())
                    changes.append(world.created(ids[uid], uid: Int64(uid), "u\(uid)"))
                }
                try world.pull(world.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try world.store.resetCursor(of: world.space)
                let page = world.snapshot(
                    [SnapshotRows(collection: "users", records: [world.shownUser(ids[0], uid: 0, version: 1, "new")])],
                    at: 2)
                let before = try world.store.session()
                let result = try world.pull(page, brake: DeleteBrake(records: 5, percent: 50))
                try world.expect(result, is: .braked(deletes: 9, of: 10), "the result")
                try world.expect(try world.store.session(), is: before, "the session")
                try world.expect(try world.name(ids[0]), is: .text("u0"), "a shown record")
                try world.pull(page, brake: DeleteBrake(records: 10, percent: 50))
                try world.expect(try world.store.count(matching: RecordQuery("users")), is: 1, "the number of users")
            },
            Check("the brake does not offset deleted records with records that the snapshot adds") { world in
                try world.sendHello()
                let old = (0..<6).map { _ in world.id() }
                let changes = old.enumerated().map { world.created($1, uid: Int64($0), "old") }
                try world.pull(world.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try world.store.resetCursor(of: world.space)
                let new = (0..<20).map { world.shownUser(world.id(), uid: Int64(100 + $0), version: 2, "new") }
                let rows = SnapshotRows(collection: "users", records: new.sorted { $0.id < $1.id })
                try world.pull(world.snapshot([rows], at: 2, last: false))
                let last = world.snapshot([], at: 2, first: false)
                let result = try world.pull(last, brake: DeleteBrake(records: 5, percent: 50))
                try world.expect(result, is: .braked(deletes: 6, of: 6), "the result")
                try world.pull(last, brake: nil)
                try world.expect(try world.store.count(matching: RecordQuery("users")), is: 20, "the number of users")
            },
            Check("an answered transaction stays until the whole snapshot is there") { world in
                try world.sendHello()
                let (id, sequence) = try world.createUser("ada")
                _ = try world.push()
                try world.response(.first, world.applied(3))
                try world.pull(world.snapshot([], at: 4, last: false))
                try world.expect(try world.user(id) != nil, "the record vanished while the snapshot ran")
                try world.expect(
                    try world.store.fate(of: sequence), is: .pending(.answered(.first, version: Version(3))), "the fate"
                )
                let row = world.shownUser(id, uid: 1, version: 3, "ada")
                try world.pull(
                    world.snapshot([SnapshotRows(collection: "users", records: [row])], at: 4, first: false))
                try world.expect(try world.store.fate(of: sequence), is: .confirmed, "the fate after the snapshot")
                try world.expect(try world.user(id), is: row, "the record")
            },
            Check("a fresh snapshot takes a uid from a record that it has not shown, and from no other") { world in
                let (old, new) = (try world.syncedUser("old"), world.id())
                try world.store.resetCursor(of: world.space)
                let taken = world.shownUser(new, uid: 7, version: 2, "new")
                try world.pull(
                    world.snapshot([SnapshotRows(collection: "users", records: [taken])], at: 2, last: false))
                let third = world.shownUser(world.id(), uid: 7, version: 2, "third")
                do {
                    try world.pull(
                        world.snapshot(
                            [SnapshotRows(collection: "users", records: [third])], at: 2, first: false, last: true))
                    throw ConformanceViolation(rule: world.rule, detail: "one uid of two records was taken")
                } catch let failure as StoreError {
                    try world.expect(failure.code, is: .contradiction, "the failure")
                }
                try world.pull(world.snapshot([], at: 2, first: false))
                try world.expect(try world.user(new), is: taken, "the record")
                try world.expect(try world.user(old) == nil, "the one that is gone")
            },
            Check("a restarted snapshot forgets the rows that the first has shown") { world in
                let one = try world.syncedUser("one")
                try world.store.resetCursor(of: world.space)
                let row = world.shownUser(one, uid: 7, version: 1, "one")
                try world.pull(
                    world.snapshot([SnapshotRows(collection: "users", records: [row])], at: 2, last: false))
                try world.pull(world.snapshot([], at: 3))
                try world.expect(try world.user(one) == nil, "what the last snapshot does not show is there")
            },
        ]
    }
}

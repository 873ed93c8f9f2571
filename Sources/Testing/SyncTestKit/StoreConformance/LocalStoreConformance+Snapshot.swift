import SyncCore
import SyncModel

// Snapshots, including those taken beside live rows.
extension LocalStoreConformance {
    var snapshotChecks: [Check] {
        [
            Check("rows of a snapshot grow over its pages, also in another process") { fixture in
                try fixture.sendHello()
                let (a, b) = (fixture.id(), fixture.id())
                func rows(_ ids: RecordID..., in collection: CollectionName = "users") -> [SnapshotRows] {
                    [
                        SnapshotRows(
                            collection: collection,
                            records: ids.map { id in
                                collection == "users"
                                    ? fixture.shownUser(id, uid: id == a ? 1 : 2, version: 1, "ada")
                                    : Record(
                                        id: id, uid: UID(1), version: Version(1),
                                        values: [.null, .reference(a), .null, .null])
                            })
                    ]
                }
                func next(_ groups: [SnapshotRows], first: Bool = false) throws -> ApplyResult {
                    try fixture.pull(fixture.snapshot(groups, at: 1, first: first, last: false))
                }
                _ = try next(rows(b), first: true)
                for groups in [rows(b), rows(a)] {
                    try fixture.expect(.contradiction) {
                        do { _ = try next(groups) } catch let failure as StoreError { throw failure } catch {}
                    }
                }
                _ = try next(rows(fixture.id(), in: "avatars"))
                try fixture.expect(.contradiction) {
                    do { _ = try next(rows(fixture.id())) } catch let failure as StoreError { throw failure } catch {}
                }
                // A new snapshot starts over with its first row.
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.pull(fixture.snapshot(rows(a, b), at: 1))
            },
            Check("the state of the contact with the server is stored, and not written twice") { fixture in
                try fixture.expect(try fixture.store.contact(), is: ServerContact(), "the contact")
                let at = fixture.now()
                try fixture.store.note(.failed(code: "unreachable", message: "refused"), now: at)
                try fixture.store.note(.failed(code: "unreachable", message: "refused"), now: fixture.now())
                try fixture.store.note(.paused(.seconds(60), by: "https://a.example"), now: at)
                let failure = ServerContact.Failure(code: "unreachable", message: "refused", at: at)
                let pause = ServerContact.Pause(
                    until: at.advanced(by: .seconds(60)), of: .seconds(60), by: "https://a.example")
                try fixture.expect(
                    try fixture.store.contact(), is: ServerContact(lastFailure: failure, pause: pause), "the contact")
                let synced = fixture.now()
                try fixture.store.note(.inSync, now: synced)
                try fixture.store.note(.inSync, now: fixture.now())
                try fixture.expect(try fixture.store.contact(), is: ServerContact(lastSync: synced), "the contact")
                try fixture.store.note(.failed(code: "unreachable", message: "refused"), now: at)
                try fixture.store.note(.inSyncButHeld, now: fixture.now())
                try fixture.expect(try fixture.store.contact(), is: ServerContact(lastSync: synced), "the contact")
            },
            Check("the progress tells whether everything was in sync at the last contact") { fixture in
                func isInSync(_ expected: Bool, _ moment: String) throws {
                    let progress = try fixture.store.progress()
                    try fixture.expect(progress.isInSync, is: expected, "whether all is in sync \(moment)")
                    try fixture.expect(progress.outbox, is: try fixture.store.outboxSummary(), "the outbox \(moment)")
                    try fixture.expect(progress.spaces, is: try fixture.store.followedSpaces(), "the spaces \(moment)")
                    try fixture.expect(progress.contact, is: try fixture.store.contact(), "the contact \(moment)")
                }
                try isInSync(false, "before the first contact")
                let id = try fixture.syncedUser("a")
                try isInSync(false, "before a sync is recorded")
                try fixture.store.note(.inSync, now: fixture.now())
                try isInSync(true, "after a sync")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "b"))], to: 2, head: 3))
                try isInSync(false, "while the server has announced more")
                try fixture.pull(fixture.feed([fixture.at(3, fixture.renamed(id, "c"))], to: 3))
                try isInSync(true, "with all of it")
                try fixture.pull(fixture.feed([], to: 3, head: 9))
                try isInSync(false, "after an announcement alone")
                try fixture.pull(fixture.feed([], to: 3))
                try isInSync(true, "after the server has corrected it")
                try fixture.store.note(.failed(code: "unreachable", message: "refused"), now: fixture.now())
                try isInSync(false, "after a failure")
                try fixture.store.note(.inSync, now: fixture.now())
                let entry = try fixture.written(.update("users", id, ["age": .integer(1)]))
                try isInSync(false, "with an unsent write")
                try fixture.store.cancel(entry, now: fixture.now())
                try isInSync(true, "without it")
                try fixture.store.follow("team")
                try isInSync(false, "with a space that was not downloaded")
            },
            Check("a version that was only announced does not keep a fresh snapshot out") { fixture in
                let id = try fixture.syncedUser("a")
                try fixture.pull(fixture.feed([], to: 1, head: 9))
                try fixture.store.resetCursor(of: fixture.space)
                let rows = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(id, uid: 7, version: 2, "b")])
                try fixture.pull(fixture.snapshot([rows], at: 2))
                try fixture.expect(try fixture.name(id), is: .text("b"), "the name")
            },
            Check("a snapshot arrives in pages, and is complete once the feed has caught up") { fixture in
                let one = fixture.id()
                let two = fixture.id()
                try fixture.sendHello()
                try fixture.pull(
                    fixture.snapshot(
                        [
                            SnapshotRows(
                                collection: "users", records: [fixture.shownUser(one, uid: 1, version: 4, "one")])
                        ],
                        at: 5, last: false))
                try fixture.expect(try fixture.stored()?.isComplete, is: false, "isComplete after the first page")
                try fixture.expect(try fixture.name(one), is: .text("one"), "a record while the snapshot runs")
                // The server reads the second page later, so its rows are ahead of the feed.
                try fixture.pull(
                    fixture.snapshot(
                        [
                            SnapshotRows(
                                collection: "users", records: [fixture.shownUser(two, uid: 2, version: 7, "new")])
                        ],
                        at: 5, head: 7, first: false))
                try fixture.expect(try fixture.stored()?.isComplete, is: false, "isComplete before the feed")
                let ghost = fixture.id()
                try fixture.pull(
                    fixture.feed(
                        [
                            fixture.at(6, fixture.renamed(two, "old"), fixture.renamed(ghost, "ghost")),
                            fixture.at(7, fixture.renamed(two, "new"), fixture.deleted(ghost)),
                        ], to: 7))
                try fixture.expect(try fixture.stored()?.isComplete, is: true, "isComplete after the feed")
                try fixture.expect(try fixture.name(two), is: .text("new"), "the record that was ahead")
                try fixture.expect(try fixture.user(two)?.version, is: Version(7), "its version")
                try fixture.expect(try fixture.user(ghost) == nil, "a record that was deleted meanwhile is there")
            },
            Check("a later version that a snapshot has shown is not undone by the feed") { fixture in
                let id = fixture.id()
                try fixture.sendHello()
                try fixture.pull(
                    fixture.snapshot(
                        [
                            SnapshotRows(
                                collection: "users", records: [fixture.shownUser(id, uid: 1, version: 9, "late")])
                        ],
                        at: 7, head: 9))
                try fixture.pull(fixture.feed([fixture.at(8, fixture.renamed(id, "early"))], to: 8, head: 9))
                try fixture.expect(try fixture.name(id), is: .text("late"), "the name")
            },
            Check("values that only a lost history of the server has shown are offered in the journal") { fixture in
                let (ada, bo, cy, dee, flo) = (fixture.id(), fixture.id(), fixture.id(), fixture.id(), fixture.id())
                try fixture.sendHello()
                let shown = [
                    fixture.shownUser(ada, uid: 1, version: 5, "ada"), fixture.shownUser(bo, uid: 2, version: 6, "bo"),
                    fixture.shownUser(cy, uid: 3, version: 3, "cy"), fixture.shownUser(dee, uid: 4, version: 2, "dee"),
                    fixture.shownUser(flo, uid: 5, version: 6, "flo"),
                ]
                try fixture.pull(fixture.snapshot([SnapshotRows(collection: "users", records: shown)], at: 6))
                try fixture.commit(.delete("users", cy))
                // The backup was taken at version 4. After it was restored, dee was renamed and flo got an age.
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                var old = fixture.shownUser(flo, uid: 5, version: 7, "fay")
                old.values[1] = .integer(40)
                old.fieldVersions = [Version(3), Version(7), Version(3), Version(3)]
                let known = [
                    fixture.shownUser(ada, uid: 1, version: 1, "eva"), fixture.shownUser(dee, uid: 4, version: 5, "di"),
                    old,
                ]
                let page = fixture.snapshot([SnapshotRows(collection: "users", records: known)], at: 7, of: restored)
                try fixture.pull(page)
                try fixture.expect(try fixture.name(ada), is: .text("eva"), "what the backup has")
                try fixture.expect(try fixture.user(bo) == nil, "what the backup does not have is shown")
                let entries = try fixture.store.journal(state: .active, limit: 9)
                let offers = try fixture.offers()
                try fixture.expect(offers.map(\.record), is: [bo, ada, flo], "the records of the offers")
                try fixture.expect(
                    offers.map(\.patch),
                    is: [["username": .text("bo")], ["username": .text("ada")], ["username": .text("flo")]],
                    "their values")
                try fixture.expect(
                    try fixture.store.outboxSummary().activeJournalEntries, is: 2, "the count of active entries")
                let parts = try entries.map {
                    try fixture.store.restore(journal: $0.number, now: fixture.now(), newID: fixture.newID).count
                }
                try fixture.expect(parts, is: [1, 2], "the transactions that the server may take or refuse alone")
                try fixture.expect(try fixture.name(bo), is: .text("bo"), "the record that was brought back")
                try fixture.expect(try fixture.name(ada), is: .text("ada"), "the name that was brought back")
                // Offers are made once: the next snapshot of this history adds none.
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.pull(page)
                try fixture.expect(try fixture.store.journal(state: .active, limit: 9), is: [], "the journal")
            },
            Check("a value that this device wrote is offered after a restore, even where others have replaced it") {
                fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("mine")]))
                let batch = try fixture.push()
                _ = try fixture.response(batch.transactions[0].number, fixture.applied(2))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "mine"))], to: 2))
                // The age came from another device, which offers it itself.
                let aged = RecordChange(collection: "users", id: id, effect: .updated(["age": .integer(40)]))
                try fixture.pull(fixture.feed([fixture.at(3, aged)], to: 3))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                // Another device has changed both fields twice since the restore, without having seen the values here.
                var shown = fixture.shownUser(id, uid: 7, version: 5, "theirs")
                shown.values[1] = .integer(50)
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [shown])], at: 5, of: restored))
                try fixture.expect(
                    try fixture.offers().map(\.patch), is: [["username": .text("mine")]], "what the journal offers")
            },
            Check("a field that this device's creation left empty is not offered after a restore") { fixture in
                try fixture.sendHello()
                let (id, _) = try fixture.createUser("ada")
                let number = try fixture.push().transactions[0].number
                _ = try fixture.response(
                    number, fixture.applied(1, uids: [AssignedUID(collection: "users", record: id, uid: UID(7))]))
                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(id, uid: 7, "ada"))], to: 1))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                // Another device had set the age before the backup.
                var shown = fixture.shownUser(id, uid: 7, version: 5, "ada")
                shown.values[1] = .integer(50)
                shown.fieldVersions = [Version(1), Version(5), Version(1), Version(1)]
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [shown])], at: 5, of: restored))
                try fixture.expect(try fixture.offers(), is: [], "what the journal offers")
            },
            Check("a value of another device whose version a transaction without effect shares is not offered") {
                fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["active": .boolean(true)]))
                let batch = try fixture.push()
                // The edit lost, so its version is that of the newest commit, which is another device's.
                _ = try fixture.response(batch.transactions[0].number, fixture.applied(2))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "theirs"))], to: 2))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                let shown = fixture.shownUser(id, uid: 7, version: 5, "newer")
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [shown])], at: 5, of: restored))
                try fixture.expect(try fixture.offers(), is: [], "what the journal offers")
            },
            Check("a version that this device wrote in one lost history is another device's in the next") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("mine")]))
                let batch = try fixture.push()
                _ = try fixture.response(batch.transactions[0].number, fixture.applied(2))
                let other = fixture.created(fixture.id(), uid: 8, "bo")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "mine"), other)], to: 2))
                // The second history is lost, too, before it has shown every record.
                for (epoch, version, name) in [("second", Int64(2), "theirs"), ("third", 5, "newer")] {
                    let epoch = Epoch(rawValue: epoch)
                    _ = try fixture.store.adopt(epoch, as: fixture.account)
                    let rows = SnapshotRows(
                        collection: "users", records: [fixture.shownUser(id, uid: 7, version: version, name)])
                    try fixture.pull(fixture.snapshot([rows], at: version, last: false, of: epoch))
                }
                try fixture.expect(
                    try fixture.offers().map(\.patch), is: [["username": .text("mine")]], "what the journal offers")
            },
            Check("a device that meets two histories in turn is offered lost values once") { fixture in
                try fixture.sendHello()
                let (id, other) = (fixture.id(), fixture.id())
                let (shown, older) = (
                    fixture.shownUser(id, uid: 7, version: 3, "ada"), fixture.shownUser(other, uid: 8, version: 1, "bo")
                )
                for round in 0..<3 {
                    for (epoch, records) in [(fixture.epoch, [shown, older]), (Epoch(rawValue: "copy"), [older])] {
                        if round > 0 || epoch != fixture.epoch {
                            _ = try fixture.store.adopt(epoch, as: fixture.account)
                        }
                        try fixture.pull(
                            fixture.snapshot([SnapshotRows(collection: "users", records: records)], at: 3, of: epoch))
                    }
                }
                let offers = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(offers.count, is: 1, "the number of entries")
                try fixture.expect(
                    try fixture.offers().map(\.patch), is: [["username": .text("ada")]], "what they offer")
                try fixture.store.dismiss(journal: offers[0].number)
                for (epoch, records) in [(fixture.epoch, [shown, older]), (Epoch(rawValue: "copy"), [older])] {
                    _ = try fixture.store.adopt(epoch, as: fixture.account)
                    try fixture.pull(
                        fixture.snapshot([SnapshotRows(collection: "users", records: records)], at: 3, of: epoch))
                }
                try fixture.expect(try fixture.offers().count, is: 1, "the number of offers after a decision")
            },
            Check("a value that was lost again after another one is offered as the newest") { fixture in
                let id = try fixture.syncedUser("old")
                var epoch = fixture.epoch
                for (number, name) in ["x", "y", "x"].enumerated() {
                    try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, name))], to: 2, of: epoch))
                    epoch = Epoch(rawValue: "restored-\(number)")
                    _ = try fixture.store.adopt(epoch, as: fixture.account)
                    let rows = SnapshotRows(
                        collection: "users", records: [fixture.shownUser(id, uid: 7, version: 1, "old")])
                    try fixture.pull(fixture.snapshot([rows], at: 1, of: epoch))
                }
                let offers = try fixture.store.journal(state: .active, limit: 9).map { entry -> Patch? in
                    if case .lost(let lost) = entry.event { lost.mutations.first?.patch } else { nil }
                }
                try fixture.expect(offers.first ?? nil, is: ["username": .text("x")], "the newest offer")
            },
            Check("lost values are restored in parts, without references to missing records") { fixture in
                let (ada, dee, art, ghost) = (fixture.id(), fixture.id(), fixture.id(), fixture.id())
                let orphan = fixture.id()
                try fixture.sendHello()
                var user = fixture.shownUser(dee, uid: 2, version: 5, "dee")
                user.values[3] = .reference(ghost)
                let avatar = Record(
                    id: art, uid: UID(1), version: Version(5), values: [.null, .reference(ada), .null, .null])
                let groups = [
                    SnapshotRows(
                        collection: "users", records: [fixture.shownUser(ada, uid: 1, version: 1, "ada"), user]),
                    SnapshotRows(
                        collection: "avatars",
                        records: [
                            avatar,
                            Record(
                                id: orphan, uid: UID(3), version: Version(5),
                                values: [.null, .reference(ghost), .null, .null]),
                        ]),
                ]
                try fixture.pull(fixture.snapshot(groups, at: 5))
                let restored = Epoch(rawValue: "restored")
                _ = try fixture.store.adopt(restored, as: fixture.account)
                let known = SnapshotRows(
                    collection: "users", records: [fixture.shownUser(ada, uid: 1, version: 1, "ada")])
                try fixture.pull(fixture.snapshot([known], at: 1, of: restored))
                let offer = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(offer.count, is: 1, "the count of offers")
                // The author of one lost avatar is deleted, too. Nothing is known of the author of the other.
                try fixture.pull(fixture.feed([fixture.at(2, fixture.deleted(ada))], to: 2, of: restored))
                let sequences = try fixture.store.restore(
                    journal: offer[0].number, now: fixture.now(), newID: fixture.newID)
                try fixture.expect(sequences.count, is: 2, "the count of transactions")
                try fixture.expect(
                    try fixture.name(fixture.newID()), is: .text("ada"), "the author that is created again")
                try fixture.expect(
                    try fixture.store.record("avatars", .id(art))?.values[1], is: .reference(fixture.newID()),
                    "the author of the avatar")
                try fixture.expect(try fixture.store.record("avatars", .id(orphan)), is: nil, "the other avatar")
                try fixture.expect(try fixture.name(dee), is: .text("dee"), "the name")
                try fixture.expect(try fixture.user(dee)?.values[3], is: .null, "the reference to what is gone")
                let left = try fixture.store.journal(state: .active, limit: 9)
                try fixture.expect(left.count, is: 1, "the count of offers that are left")
                try fixture.expect(.danglingReference) {
                    _ = try fixture.store.restore(journal: left[0].number, now: fixture.now(), newID: fixture.newID)
                }
                try fixture.expect(
                    try fixture.store.journal(state: .active, limit: 9), is: left, "what is left, after it was refused")
            },
            Check("a page requested with another cursor changes nothing, and the response has the store's cursor") {
                fixture in
                let one = fixture.id()
                let two = fixture.id()
                try fixture.sendHello()
                let first = fixture.snapshot(
                    [SnapshotRows(collection: "users", records: [fixture.shownUser(one, uid: 1, version: 4, "one")])],
                    at: 5, last: false)
                let last = fixture.snapshot(
                    [SnapshotRows(collection: "users", records: [fixture.shownUser(two, uid: 2, version: 5, "two")])],
                    at: 5, first: false)
                try fixture.pull(first)
                // Another engine starts over, or has requested a later page: neither page continues the stored state.
                let stored = try fixture.stored()
                for (page, cursor) in [(first, nil), (last, Cursor(rawValue: "further on"))] {
                    let result = try fixture.store.apply(page, after: cursor, brake: nil, now: fixture.now())
                    guard case .applied(stored, _, 0) = result else {
                        throw ConformanceViolation(rule: fixture.rule, detail: "the result is \(result)")
                    }
                    try fixture.expect(try fixture.stored(), is: stored, "the stored space")
                }
                try fixture.expect(try fixture.user(two) == nil, "a page that continues nothing was applied")
                try fixture.pull(last)
                try fixture.expect(try fixture.name(one), is: .text("one"), "the first record")
                try fixture.expect(try fixture.name(two), is: .text("two"), "the last record")
            },
            Check("a snapshot older than what was shown before a reset is refused") { fixture in
                let id = try fixture.syncedUser("a")
                try fixture.pull(fixture.feed([fixture.at(2, fixture.renamed(id, "b"))], to: 2))
                try fixture.store.resetCursor(of: fixture.space)
                let old = fixture.snapshot([], at: 1)
                try fixture.expect(.contradiction) {
                    _ = try fixture.store.apply(old, after: nil, brake: nil, now: fixture.now())
                }
                try fixture.expect(try fixture.name(id), is: .text("b"), "the record")
                try fixture.pull(fixture.snapshot([], at: 2))
                try fixture.expect(try fixture.user(id) == nil, "what a new snapshot does not show is still there")
            },
            Check("a snapshot beside live rows removes what it does not show, and keeps pending writes") { fixture in
                let kept = try fixture.syncedUser("kept")
                let gone = fixture.id()
                let edited = fixture.id()
                let hidden = fixture.id()
                try fixture.pull(
                    fixture.feed(
                        [
                            fixture.at(
                                2, fixture.created(gone, uid: 8, "gone"), fixture.created(edited, uid: 9, "edited"),
                                fixture.created(hidden, uid: 10, "hidden"))
                        ], to: 2))
                try fixture.commit(.update("users", edited, ["age": .integer(5)]))
                try fixture.commit(.delete("users", hidden))
                let (mine, _) = try fixture.createUser("mine")
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.expect(try fixture.stored()?.cursor == nil, "the cursor is still there")
                try fixture.expect(try fixture.user(gone) != nil, "rows went with the cursor")

                try fixture.pull(
                    fixture.snapshot(
                        [
                            SnapshotRows(
                                collection: "users", records: [fixture.shownUser(kept, uid: 7, version: 3, "kept2")])
                        ],
                        at: 5))
                try fixture.expect(try fixture.name(kept), is: .text("kept2"), "the shown record")
                try fixture.expect(try fixture.user(gone) == nil, "what was not shown is still there")
                try fixture.expect(try fixture.user(edited) == nil, "what was deleted under an edit is still there")
                try fixture.expect(try fixture.user(mine) != nil, "what was created here is gone")
                try fixture.expect(try fixture.store.outboxSummary().waiting, is: 3, "the count of waiting entries")
                for _ in 0..<3 { _ = try fixture.push() }
                try fixture.response(TransactionNumber(1), fixture.rejected())
                try fixture.expect(try fixture.user(hidden) == nil, "a record deleted on both sides came back")
            },
            Check("the brake stops a snapshot that would delete too much, and nothing is applied") { fixture in
                try fixture.sendHello()
                var changes: [RecordChange] = []
                var ids: [RecordID] = []
                for uid in 0..<10 {
                    ids.append(fixture.id())
                    changes.append(fixture.created(ids[uid], uid: Int64(uid), "u\(uid)"))
                }
                try fixture.pull(fixture.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try fixture.store.resetCursor(of: fixture.space)
                let page = fixture.snapshot(
                    [
                        SnapshotRows(
                            collection: "users", records: [fixture.shownUser(ids[0], uid: 0, version: 1, "new")])
                    ],
                    at: 2)
                let before = try fixture.store.session()
                let result = try fixture.pull(page, brake: DeleteBrake(records: 5, percent: 50))
                try fixture.expect(result, is: .braked(deletes: 9, of: 10), "the result")
                try fixture.expect(try fixture.store.session(), is: before, "the session")
                try fixture.expect(try fixture.name(ids[0]), is: .text("u0"), "a shown record")
                try fixture.pull(page, brake: DeleteBrake(records: 10, percent: 50))
                try fixture.expect(
                    try fixture.store.count(matching: RecordQuery("users")), is: 1, "the number of users")
            },
            Check("the brake does not offset deleted records with records that the snapshot adds") { fixture in
                try fixture.sendHello()
                let old = (0..<6).map { _ in fixture.id() }
                let changes = old.enumerated().map { fixture.created($1, uid: Int64($0), "old") }
                try fixture.pull(fixture.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try fixture.store.resetCursor(of: fixture.space)
                let new = (0..<20).map { fixture.shownUser(fixture.id(), uid: Int64(100 + $0), version: 2, "new") }
                let rows = SnapshotRows(collection: "users", records: new.sorted { $0.id < $1.id })
                try fixture.pull(fixture.snapshot([rows], at: 2, last: false))
                let last = fixture.snapshot([], at: 2, first: false)
                let result = try fixture.pull(last, brake: DeleteBrake(records: 5, percent: 50))
                try fixture.expect(result, is: .braked(deletes: 6, of: 6), "the result")
                try fixture.pull(last, brake: nil)
                try fixture.expect(
                    try fixture.store.count(matching: RecordQuery("users")), is: 20, "the number of users")
            },
            Check("a head that was announced falsely does not keep a space incomplete") { fixture in
                try fixture.sendHello()
                try fixture.pull(fixture.snapshot([], at: 4, head: 99_999))
                try fixture.expect(try fixture.stored()?.isComplete, is: false, "after the false head")
                try fixture.pull(fixture.feed([], to: 4))
                try fixture.expect(try fixture.stored()?.isComplete, is: true, "after a page with the true head")
            },
            Check("a head that was announced falsely does not refuse the next snapshot after a reset") { fixture in
                try fixture.sendHello()
                try fixture.pull(fixture.snapshot([], at: 4, head: 99_999))
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.pull(fixture.snapshot([], at: 5))
                try fixture.expect(try fixture.stored()?.isComplete, is: true, "after a snapshot with the true head")
            },
            Check("a feed from the beginning that ends before what was shown is a contradiction") { fixture in
                _ = try fixture.syncedUser("ada")
                try fixture.pull(fixture.feed([], to: 1))
                try fixture.store.resetCursor(of: fixture.space)
                try fixture.expect(.contradiction) { try fixture.pull(fixture.feed([], to: 0)) }
            },
            Check("an answered transaction stays until the whole snapshot is there") { fixture in
                try fixture.sendHello()
                let (id, sequence) = try fixture.createUser("ada")
                _ = try fixture.push()
                try fixture.response(.first, fixture.applied(3))
                try fixture.pull(fixture.snapshot([], at: 4, last: false))
                try fixture.expect(try fixture.user(id) != nil, "the record vanished while the snapshot ran")
                try fixture.expect(
                    try fixture.store.fate(of: sequence), is: .pending(.answered(.first, version: Version(3))),
                    "the fate"
                )
                let row = fixture.shownUser(id, uid: 1, version: 3, "ada")
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [row])], at: 4, first: false))
                try fixture.expect(try fixture.store.fate(of: sequence), is: .confirmed, "the fate after the snapshot")
                try fixture.expect(try fixture.user(id), is: row, "the record")
            },
            Check("a fresh snapshot takes a uid from a record that it has not shown, and from no other") { fixture in
                let (old, new) = (try fixture.syncedUser("old"), fixture.id())
                try fixture.store.resetCursor(of: fixture.space)
                let taken = fixture.shownUser(new, uid: 7, version: 2, "new")
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [taken])], at: 2, last: false))
                let third = fixture.shownUser(fixture.id(), uid: 7, version: 2, "third")
                do {
                    try fixture.pull(
                        fixture.snapshot(
                            [SnapshotRows(collection: "users", records: [third])], at: 2, first: false, last: true))
                    throw ConformanceViolation(rule: fixture.rule, detail: "one uid of two records was taken")
                } catch let failure as StoreError {
                    try fixture.expect(failure.code, is: .contradiction, "the failure")
                }
                try fixture.pull(fixture.snapshot([], at: 2, first: false))
                try fixture.expect(try fixture.user(new), is: taken, "the record")
                try fixture.expect(try fixture.user(old) == nil, "the one that is gone")
            },
            Check("a restarted snapshot forgets the rows that the first has shown") { fixture in
                let one = try fixture.syncedUser("one")
                try fixture.store.resetCursor(of: fixture.space)
                let row = fixture.shownUser(one, uid: 7, version: 1, "one")
                try fixture.pull(
                    fixture.snapshot([SnapshotRows(collection: "users", records: [row])], at: 2, last: false))
                try fixture.pull(fixture.snapshot([], at: 3))
                try fixture.expect(try fixture.user(one) == nil, "what the last snapshot does not show is there")
            },
        ]
    }
}

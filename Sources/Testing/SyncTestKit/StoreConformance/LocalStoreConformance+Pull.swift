import SyncCore
import SyncModel

// Pages of the change feed.
extension LocalStoreConformance {
    var pullChecks: [Check] {
        [
            Check("changes and cursor are applied together") { fixture in
                let id = fixture.id()
                try fixture.sendHello()
                let result = try fixture.pull(
                    fixture.feed(
                        [fixture.at(1, fixture.created(id, uid: 3, "a")), fixture.at(2, fixture.renamed(id, "b"))],
                        to: 2))
                let space = StoredSpace(
                    space: fixture.space, cursor: Cursor(rawValue: "feed-2"), version: Version(2), isComplete: true,
                    notices: try fixture.wantsNotices())
                try fixture.expect(
                    result, is: .applied(space, outbox: OutboxSummary(), changedRecords: 2), "the result")
                try fixture.expect(try fixture.stored(), is: space, "the stored space")
                var expected = fixture.shownUser(id, uid: 3, version: 2, "b")
                expected.fieldVersions = [Version(2), Version(1), Version(1), Version(1)]
                try fixture.expect(try fixture.user(id), is: expected, "the record")
                try fixture.pull(fixture.feed([fixture.at(3, fixture.deleted(id))], to: 3))
                try fixture.expect(try fixture.user(id) == nil, "the deleted record is still there")
            },
            Check("a late page changes nothing, and its cursor does not go back") { fixture in
                let id = try fixture.syncedUser("a")
                let page = fixture.feed([fixture.at(2, fixture.renamed(id, "b"))], to: 2)
                try fixture.pull(page)
                try fixture.pull(fixture.feed([fixture.at(3, fixture.deleted(id))], to: 3))
                let session = try fixture.store.session()
                try fixture.pull(page)
                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(id, uid: 7, "a"))], to: 1))
                try fixture.expect(try fixture.store.session(), is: session, "the session")
                try fixture.expect(try fixture.user(id) == nil, "the deleted record came back")
            },
            Check("a page that overlaps is applied from where the store stands") { fixture in
                let id = try fixture.syncedUser("a")
                try fixture.pull(
                    fixture.feed(
                        [fixture.at(1, fixture.created(id, uid: 7, "a")), fixture.at(2, fixture.renamed(id, "b"))],
                        to: 2))
                try fixture.expect(try fixture.name(id), is: .text("b"), "the name")
            },
            Check("a page that contradicts what is stored is refused whole") { fixture in
                let id = try fixture.syncedUser("a")
                let other = fixture.id()
                let good = fixture.at(2, fixture.renamed(id, "b"))
                let foreign = PullPage(
                    space: fixture.space, epoch: Epoch(rawValue: "other"), serverTime: .zero, content: .commits([good]),
                    cursor: Cursor(rawValue: "x"), version: Version(2), head: Version(2), hasMore: false)
                let pages: [(String, PullPage)] = [
                    ("gap", fixture.feed([fixture.at(3, fixture.renamed(id, "b"))], to: 3)),
                    ("back", fixture.feed([good, fixture.at(2, fixture.renamed(id, "c"))], to: 2)),
                    ("short", fixture.feed([good], to: 3)),
                    ("epoch", foreign),
                    ("negative uid", fixture.feed([good, fixture.at(3, fixture.created(other, uid: -1, "x"))], to: 3)),
                    ("taken uid", fixture.feed([good, fixture.at(3, fixture.created(other, uid: 7, "x"))], to: 3)),
                    ("missing", fixture.feed([good, fixture.at(3, fixture.renamed(other, "x"))], to: 3)),
                    (
                        "type",
                        fixture.feed(
                            [
                                good,
                                fixture.at(
                                    3, RecordChange(collection: "users", id: id, effect: .updated(["age": .text("x")]))),
                            ], to: 3)
                    ),
                    ("snapshot page", fixture.snapshot([], at: 2, first: false)),
                ]
                let session = try fixture.store.session()
                for (name, page) in pages {
                    do {
                        try fixture.pull(page)
                    } catch let failure as StoreError {
                        try fixture.expect(failure.code, is: .contradiction, "the failure of '\(name)'")
                        try fixture.expect(try fixture.store.session(), is: session, "the session after '\(name)'")
                        try fixture.expect(try fixture.name(id), is: .text("a"), "the name after '\(name)'")
                        continue
                    }
                    throw ConformanceViolation(rule: fixture.rule, detail: "the page '\(name)' was applied")
                }
            },
            Check("changes of collections that this build does not know are kept aside") { fixture in
                let id = try fixture.syncedUser("ada")
                let planet = fixture.id()
                func change(_ effect: RecordChange.Effect) -> RecordChange {
                    RecordChange(collection: "planets", id: planet, effect: effect)
                }
                try fixture.pull(
                    fixture.feed(
                        [
                            fixture.at(
                                2, change(.created(uid: UID(0), ["name": .text("mars")])), fixture.renamed(id, "b")),
                            fixture.at(3, change(.updated(["name": .text("venus"), "moons": .integer(0)]))),
                        ], to: 3))
                try fixture.expect(try fixture.name(id), is: .text("b"), "the name")
                try fixture.expect(try fixture.stored()?.version, is: Version(3), "the version")
                try fixture.pull(fixture.feed([fixture.at(4, change(.deleted), fixture.renamed(id, "c"))], to: 4))
                try fixture.expect(try fixture.name(id), is: .text("c"), "the name")
                try fixture.expect(.contradiction) {
                    _ = try fixture.store.apply(
                        fixture.feed([fixture.at(5, change(.updated(["name": .text("x")])))], to: 5),
                        after: try fixture.store.session().spaces[0].cursor, brake: nil, now: fixture.now())
                }
            },
            Check("pending changes stay over a base that moves") { fixture in
                let id = try fixture.syncedUser("ada")
                try fixture.commit(.update("users", id, ["username": .text("eve")]))
                try fixture.pull(
                    fixture.feed(
                        [
                            fixture.at(2, fixture.renamed(id, "zoe")),
                            fixture.at(
                                3, RecordChange(collection: "users", id: id, effect: .updated(["age": .integer(9)]))),
                        ], to: 3))
                try fixture.expect(
                    try fixture.user(id)?.values.prefix(2), is: [.text("eve"), .integer(9)], "the record")
                _ = try fixture.push()
                try fixture.response(.first, fixture.rejected())
                try fixture.expect(try fixture.user(id)?.values.prefix(2), is: [.text("zoe"), .integer(9)], "the base")
            },
            Check("a record deleted there stays deleted under pending changes, and they are kept") { fixture in
                let id = try fixture.syncedUser("ada")
                let sequence = try fixture.written(.update("users", id, ["username": .text("eve")]))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.deleted(id))], to: 2))
                try fixture.expect(try fixture.user(id) == nil, "the record is still there")
                try fixture.expect(try fixture.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                _ = try fixture.push()
                try fixture.response(.first, fixture.rejected(.recordDeleted))
                try fixture.expect(try fixture.user(id) == nil, "the record came back")
                try fixture.expect(try fixture.store.journal(state: .active, limit: 9).count, is: 1, "the journal")
            },
            Check("a record that was created here and deleted there does not come back before the response") {
                fixture in
                try fixture.sendHello()
                let (id, _) = try fixture.createUser("ada")
                _ = try fixture.push()
                try fixture.pull(fixture.feed([fixture.at(1, fixture.created(id, uid: 1, "ada"))], to: 1))
                try fixture.pull(fixture.feed([fixture.at(2, fixture.deleted(id))], to: 2))
                try fixture.expect(try fixture.user(id) == nil, "the record is there")
                try fixture.response(.first, fixture.applied(1))
                try fixture.expect(try fixture.user(id) == nil, "the record came back")
                try fixture.expect(try fixture.store.outboxSummary(), is: OutboxSummary(), "the outbox")
            },
            Check("fields that this build does not know are kept") { fixture in
                let id = fixture.id()
                try fixture.sendHello()
                let change = RecordChange(
                    collection: "users", id: id,
                    effect: .created(uid: UID(1), ["username": .text("a"), "motto": .text("hello")]))
                try fixture.pull(fixture.feed([fixture.at(1, change)], to: 1))
                try fixture.commit(.update("users", id, ["username": .text("b")]))
                try fixture.expect(try fixture.user(id)?.unknown, is: ["motto": .text("hello")], "the unknown fields")
            },
            Check("a page of thousands of changes names its collection as a whole") { fixture in
                try fixture.sendHello()
                var changes: [RecordChange] = []
                for uid in 0..<1_000 { changes.append(fixture.created(fixture.id(), uid: Int64(uid), "u\(uid)")) }
                try fixture.pull(fixture.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try fixture.expect(
                    try fixture.store.count(matching: RecordQuery("users")), is: 1_000, "the number of users")
            },
        ]
    }
}

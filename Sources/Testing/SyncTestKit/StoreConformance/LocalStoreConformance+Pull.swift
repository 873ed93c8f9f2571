import SyncCore
import SyncModel

// Pages of the change feed.
extension LocalStoreConformance {
    var pullChecks: [Check] {
        [
            Check("changes and cursor are applied together") { world in
                let id = world.id()
                try world.sendHello()
                let result = try world.pull(
                    world.feed(
                        [world.at(1, world.created(id, uid: 3, "a")), world.at(2, world.renamed(id, "b"))], to: 2))
                let space = StoredSpace(
                    space: world.space, cursor: Cursor(rawValue: "feed-2"), version: Version(2), isComplete: true,
                    notices: try world.wantsNotices())
                try world.expect(result, is: .applied(space, outbox: OutboxSummary(), changedRecords: 2), "the result")
                try world.expect(try world.stored(), is: space, "the stored space")
                var expected = world.shownUser(id, uid: 3, version: 2, "b")
                expected.fieldVersions = [Version(2), Version(1), Version(1), Version(1)]
                try world.expect(try world.user(id), is: expected, "the record")
                try world.pull(world.feed([world.at(3, world.deleted(id))], to: 3))
                try world.expect(try world.user(id) == nil, "the deleted record is still there")
            },
            Check("a late page changes nothing, and its cursor does not go back") { world in
                let id = try world.syncedUser("a")
                let page = world.feed([world.at(2, world.renamed(id, "b"))], to: 2)
                try world.pull(page)
                try world.pull(world.feed([world.at(3, world.deleted(id))], to: 3))
                let session = try world.store.session()
                try world.pull(page)
                try world.pull(world.feed([world.at(1, world.created(id, uid: 7, "a"))], to: 1))
                try world.expect(try world.store.session(), is: session, "the session")
                try world.expect(try world.user(id) == nil, "the deleted record came back")
            },
            Check("a page that overlaps is applied from where the store stands") { world in
                let id = try world.syncedUser("a")
                try world.pull(
                    world.feed(
                        [world.at(1, world.created(id, uid: 7, "a")), world.at(2, world.renamed(id, "b"))], to: 2))
                try world.expect(try world.name(id), is: .text("b"), "the name")
            },
            Check("a page that contradicts what is stored is refused whole") { world in
                let id = try world.syncedUser("a")
                let other = world.id()
                let good = world.at(2, world.renamed(id, "b"))
                let foreign = PullPage(
                    space: world.space, epoch: Epoch(rawValue: "other"), serverTime: .zero, content: .commits([good]),
                    cursor: Cursor(rawValue: "x"), version: Version(2), head: Version(2), hasMore: false)
                let pages: [(String, PullPage)] = [
                    ("gap", world.feed([world.at(3, world.renamed(id, "b"))], to: 3)),
                    ("back", world.feed([good, world.at(2, world.renamed(id, "c"))], to: 2)),
                    ("short", world.feed([good], to: 3)),
                    ("epoch", foreign),
                    ("negative uid", world.feed([good, world.at(3, world.created(other, uid: -1, "x"))], to: 3)),
                    ("taken uid", world.feed([good, world.at(3, world.created(other, uid: 7, "x"))], to: 3)),
                    ("missing", world.feed([good, world.at(3, world.renamed(other, "x"))], to: 3)),
                    (
                        "type",
                        world.feed(
                            [
                                good,
                                world.at(
                                    3, RecordChange(collection: "users", id: id, effect: .updated(["age": .text("x")]))),
                            ], to: 3)
                    ),
                    ("snapshot page", world.snapshot([], at: 2, first: false)),
                ]
                let session = try world.store.session()
                for (name, page) in pages {
                    do {
                        try world.pull(page)
                    } catch let failure as StoreError {
                        try world.expect(failure.code, is: .contradiction, "the failure of '\(name)'")
                        try world.expect(try world.store.session(), is: session, "the session after '\(name)'")
                        try world.expect(try world.name(id), is: .text("a"), "the name after '\(name)'")
                        continue
                    }
                    throw ConformanceViolation(rule: world.rule, detail: "the page '\(name)' was applied")
                }
            },
            Check("changes of collections that this build does not know are kept aside") { world in
                let id = try world.syncedUser("ada")
                let planet = world.id()
                func change(_ effect: RecordChange.Effect) -> RecordChange {
                    RecordChange(collection: "planets", id: planet, effect: effect)
                }
                try world.pull(
                    world.feed(
                        [
                            world.at(2, change(.created(uid: UID(0), ["name": .text("mars")])), world.renamed(id, "b")),
                            world.at(3, change(.updated(["name": .text("venus"), "moons": .integer(0)]))),
                        ], to: 3))
                try world.expect(try world.name(id), is: .text("b"), "the name")
                try world.expect(try world.stored()?.version, is: Version(3), "the version")
                try world.pull(world.feed([world.at(4, change(.deleted), world.renamed(id, "c"))], to: 4))
                try world.expect(try world.name(id), is: .text("c"), "the name")
                try world.expect(.contradiction) {
                    _ = try world.store.apply(
                        world.feed([world.at(5, change(.updated(["name": .text("x")])))], to: 5),
                        after: try world.store.session().spaces[0].cursor, brake: nil, now: world.now())
                }
            },
            Check("pending changes stay over a base that moves") { world in
                let id = try world.syncedUser("ada")
                try world.commit(.update("users", id, ["username": .text("eve")]))
                try world.pull(
                    world.feed(
                        [
                            world.at(2, world.renamed(id, "zoe")),
                            world.at(
                                3, RecordChange(collection: "users", id: id, effect: .updated(["age": .integer(9)]))),
                        ], to: 3))
                try world.expect(try world.user(id)?.values.prefix(2), is: [.text("eve"), .integer(9)], "the record")
                _ = try world.push()
                try world.response(.first, world.rejected())
                try world.expect(try world.user(id)?.values.prefix(2), is: [.text("zoe"), .integer(9)], "the base")
            },
            Check("a record deleted there stays deleted under pending changes, and they are kept") { world in
                let id = try world.syncedUser("ada")
                let sequence = try world.written(.update("users", id, ["username": .text("eve")]))
                try world.pull(world.feed([world.at(2, world.deleted(id))], to: 2))
                try world.expect(try world.user(id) == nil, "the record is still there")
                try world.expect(try world.store.fate(of: sequence), is: .pending(.waiting), "the fate")
                _ = try world.push()
                try world.response(.first, world.rejected(.recordDeleted))
                try world.expect(try world.user(id) == nil, "the record came back")
                try world.expect(try world.store.journal(state: .active, limit: 9).count, is: 1, "the journal")
            },
            Check("a record that was created here and deleted there does not come back before the response") { world in
                try world.sendHello()
                let (id, _) = try world.createUser("ada")
                _ = try world.push()
                try world.pull(world.feed([world.at(1, world.created(id, uid: 1, "ada"))], to: 1))
                try world.pull(world.feed([world.at(2, world.deleted(id))], to: 2))
                try world.expect(try world.user(id) == nil, "the record is there")
                try world.response(.first, world.applied(1))
                try world.expect(try world.user(id) == nil, "the record came back")
                try world.expect(try world.store.outboxSummary(), is: OutboxSummary(), "the outbox")
            },
            Check("fields that this build does not know are kept") { world in
                let id = world.id()
                try world.sendHello()
                let change = RecordChange(
                    collection: "users", id: id,
                    effect: .created(uid: UID(1), ["username": .text("a"), "motto": .text("hello")]))
                try world.pull(world.feed([world.at(1, change)], to: 1))
                try world.commit(.update("users", id, ["username": .text("b")]))
                try world.expect(try world.user(id)?.unknown, is: ["motto": .text("hello")], "the unknown fields")
            },
            Check("a page of thousands of changes names its collection as a whole") { world in
                try world.sendHello()
                var changes: [RecordChange] = []
                for uid in 0..<1_000 { changes.append(world.created(world.id(), uid: Int64(uid), "u\(uid)")) }
                try world.pull(world.feed([Commit(version: Version(1), changes: changes)], to: 1))
                try world.expect(
                    try world.store.count(matching: RecordQuery("users")), is: 1_000, "the number of users")
            },
        ]
    }
}

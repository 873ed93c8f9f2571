import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@Suite struct CommitPlannerTests {
    private static let ann: Patch = ["username": .text("ann")]

    private static func picture(of number: UInt64) -> Patch {
        ["url": .text("a.png"), "author": .reference(id(number))]
    }

    /// A transaction from another device and its expected outcome. The store holds user 1, avatar 2 by user 1, the
    /// deleted user 3, user 4 in another space, and user 5.
    struct Case: Sendable, CustomTestStringConvertible {
        let what: String
        let mutations: [Mutation]
        let expected: RejectionCode?
        var culprit: Int?
        var version: Int64?

        var testDescription: String { what }
    }

    static let cases: [Case] = [
        Case(what: "an empty transaction", mutations: [], expected: .malformed),
        Case(
            what: "an unknown collection", mutations: [create("ghost", 9, [:])], expected: .unknownCollection,
            culprit: 0),
        Case(
            what: "an unknown field", mutations: [create("user", 9, ["username": .text("x"), "owner": .text("me")])],
            expected: .unknownField, culprit: 0),
        Case(
            what: "an empty name", mutations: [create("user", 9, ["username": .text("")])], expected: .invalidValue,
            culprit: 0),
        Case(what: "a create", mutations: [create("user", 9, ann)], expected: nil, version: 5),
        Case(
            what: "a create of a record that another client created",
            mutations: [create("user", 1, ["username": .text("twin")])],
            expected: nil, version: 5),
        Case(
            what: "a create of what was deleted", mutations: [create("user", 3, ann)], expected: .recordDeleted,
            culprit: 0),
        Case(
            what: "a create of what another space has", mutations: [create("user", 4, ann)], expected: .duplicateRecord,
            culprit: 0),
        Case(
            what: "a create of one record twice", mutations: [create("user", 9, ann), create("user", 9, ann)],
            expected: .malformed, culprit: 1),
        Case(
            what: "a create after a delete", mutations: [delete("user", 5), create("user", 5, ann)],
            expected: .malformed, culprit: 1),
        Case(
            what: "an update of nothing", mutations: [update("user", 9, "bio", .text("x"))], expected: .missingRecord,
            culprit: 0),
        Case(
            what: "an update before the create",
            mutations: [update("user", 9, "bio", .text("x")), create("user", 9, ann)],
            expected: .missingRecord, culprit: 0),
        Case(
            what: "an update of a record of another space", mutations: [update("user", 4, "bio", .text("x"))],
            expected: .missingRecord, culprit: 0),
        Case(
            what: "an update of what was deleted", mutations: [update("user", 3, "bio", .text("x"))],
            expected: .recordDeleted, culprit: 0),
        Case(
            what: "an update after a delete", mutations: [delete("user", 5), update("user", 5, "bio", .text("x"))],
            expected: .recordDeleted, culprit: 1),
        Case(
            what: "an update that changes nothing",
            mutations: [update("user", 1, "username", .text("one"), seen: Version(1))], expected: nil, version: 4),
        Case(
            what: "an update of no field",
            mutations: [
                Mutation(collection: "user", record: id(1), time: time(5), intent: .update([]))
            ], expected: nil, version: 4),
        Case(
            what: "a delete of nothing", mutations: [delete("user", 9)], expected: .missingRecord, culprit: 0),
        Case(
            what: "a delete of a record of another space", mutations: [delete("user", 4)], expected: .missingRecord,
            culprit: 0),
        Case(what: "a delete of what was deleted", mutations: [delete("user", 3)], expected: nil, version: 4),
        Case(
            what: "a delete twice in one transaction", mutations: [delete("user", 5), delete("user", 5)], expected: nil,
            version: 5),
        Case(
            what: "a reference to nothing", mutations: [create("avatar", 9, picture(of: 99))],
            expected: .danglingReference, culprit: 0),
        Case(
            what: "a reference to what was deleted", mutations: [create("avatar", 9, picture(of: 3))],
            expected: .danglingReference, culprit: 0),
        Case(
            what: "a reference into another space", mutations: [create("avatar", 9, picture(of: 4))],
            expected: .danglingReference, culprit: 0),
        Case(
            what: "a reference to a record of another collection",
            mutations: [create("avatar", 9, picture(of: 2))], expected: .danglingReference, culprit: 0),
        Case(
            what: "a reference to what the transaction deletes",
            mutations: [delete("user", 5), create("avatar", 9, picture(of: 5))], expected: .danglingReference,
            culprit: 1),
        Case(
            what: "a circle, in either order",
            mutations: [
                create("avatar", 9, picture(of: 8)),
                create("user", 8, ["username": .text("eve"), "avatar": .reference(id(9))]),
            ], expected: nil, version: 5),
        Case(
            what: "an update to a record made later in the transaction",
            mutations: [
                update("user", 1, "avatar", .reference(id(9)), seen: Version(1)), create("avatar", 9, picture(of: 1)),
            ], expected: nil, version: 5),
        Case(
            what: "a delete of what a record requires", mutations: [delete("user", 1)], expected: .stillReferenced,
            culprit: 0),
        Case(
            what: "a delete together with the record that requires it",
            mutations: [delete("user", 1), delete("avatar", 2)], expected: nil, version: 5),
        Case(
            what: "a delete of what a record required until now",
            mutations: [
                delete("user", 1),
                update("avatar", 2, "author", .reference(id(5)), before: .reference(id(1)), seen: Version(2)),
            ], expected: nil, version: 5),
        Case(
            what: "a new optional reference to what the transaction deletes",
            mutations: [update("user", 5, "avatar", .reference(id(2)), seen: Version(1)), delete("avatar", 2)],
            expected: .danglingReference, culprit: 0),
        Case(
            what: "a record that comes and goes in one transaction",
            mutations: [create("user", 9, ann), delete("user", 9)], expected: nil, version: 5),
        Case(
            what: "one bad mutation among good ones",
            mutations: [create("user", 9, ann), update("user", 77, "bio", .text("x")), delete("user", 5)],
            expected: .missingRecord, culprit: 1),
    ]

    private func world() throws -> AuthorityWorld {
        var policy = AuthorityPolicy()
        policy.access = AccessRules([.init(principals: .everyone, spaces: .all, access: .readAndWrite)])
        let world = AuthorityWorld(policy: policy)
        var setter = Device(1)
        try world.push(
            &setter, create("user", 1, ["username": .text("one")]), create("user", 3, ["username": .text("three")]),
            create("user", 5, ["username": .text("five")]))
        try world.push(&setter, create("avatar", 2, Self.picture(of: 1)))
        try world.push(&setter, delete("user", 3))
        try world.push(&setter, create("user", 4, ["username": .text("four")]), in: "other")
        try world.push(&setter, update("user", 5, at: 1, "bio", .text("b"), seen: Version(1)))
        #expect(try world.head() == Version(4))
        return world
    }

    @Test(arguments: cases)
    func `each transaction has the outcome that the rules require`(_ expectation: Case) throws {
        let world = try world()
        var device = Device(2)
        let transaction = try device.number(expectation.mutations)
        let response = try world.response(device.request([transaction]), by: device.principal)
        guard case .answered(let results, _, _) = response, results.count == 1 else {
            Issue.record("\(response)")
            return
        }
        let outcome = results[0].outcome
        #expect(outcome.rejection == expectation.expected, "\(outcome)")
        if expectation.expected != nil {
            #expect(outcome.culprit == expectation.culprit)
            #expect(try world.head() == Version(4), "a rejected transaction commits nothing")
        } else {
            #expect(outcome.version == expectation.version.map { Version($0) })
            #expect(try world.head() == outcome.version)
        }
    }

    @Test func `a rejection names the record and the rule that it breaks`() throws {
        let world = try world()
        var device = Device(2)
        guard case .rejected(let rejection) = try world.push(&device, delete("user", 1)) else {
            Issue.record("not rejected")
            return
        }
        #expect(rejection.message.contains("user \(id(1))"))
        #expect(rejection.message.contains("requires it as its author"))
    }

    @Test func `a create with other values is no repeat, even at the same time`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        try world.push(&device, create("user", 1, at: 5, ["username": .text("ann"), "bio": .text("a")]))
        try world.push(&device, update("user", 1, at: 6, "username", .text("eve")))
        var copy = Device(1, incarnation: 1)
        // The name has changed since the create, so it cannot be compared.
        let repeated = try world.push(
            &copy, create("user", 1, at: 5, ["username": .text("ann"), "bio": .text("a")]))
        #expect(repeated.conflicts.isEmpty)
        for patch: Patch in [
            ["username": .text("ann"), "bio": .text("b")],
            ["username": .text("ann"), "bio": .text("c"), "rank": .integer(1)],
        ] {
            let other = try world.push(&copy, create("user", 1, at: 5, patch))
            #expect(other.conflicts.map(\.field).contains("bio"))
        }
    }

    @Test(arguments: [.text("x"), .null] as [FieldValue])
    func `where edits win, a delete is rejected that has not seen an edit, even one that empties a field`(
        value: FieldValue
    ) throws {
        var world = AuthorityWorld()
        world.authority = Authority(
            store: world.store,
            catalog: SchemaCatalog([
                ModelSchema(
                    collection: "invoice", fields: [.text("hold"), .text("note"), .text("unused")],
                    deleteRule: .editWins)
            ]), policy: AuthorityPolicy(), histories: world.histories)
        var (author, other) = (Device(1), Device(2))
        try world.push(&author, create("invoice", 1, ["hold": .text("yes"), "note": .text("n")]))
        try world.push(&author, update("invoice", 1, "hold", value, seen: Version(1)))
        func delete(seen: Int64, unshown: [FieldName] = []) -> Mutation {
            Mutation(
                collection: "invoice", record: id(1), time: time(9),
                intent: .delete(seen: Version(seen), unshown: unshown))
        }
        #expect(try world.push(&other, delete(seen: 1)).rejection == .unseenEdits)
        // A build that does not know a field has not seen it. Nobody has ever set the last one.
        #expect(try world.push(&other, delete(seen: 2, unshown: ["note"])).rejection == .unseenEdits)
        #expect(try world.push(&other, delete(seen: 1, unshown: ["hold", "unused"])).rejection == .unseenEdits)
        #expect(try world.push(&other, delete(seen: 2)).rejection == nil)
        #expect(try world.fetch("invoice", .id(id(1))) == nil)
    }

    @Test func `a create that is repeated under a new incarnation takes effect once`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let first = try world.push(&device, create("user", 1, at: 5, Self.ann))
        var again = Device(1, incarnation: 1)
        let second = try world.push(&again, create("user", 1, at: 5, Self.ann))
        #expect(second == first)
        #expect(second.uids.map(\.uid) == [UID(0)])
        let other = try world.push(&again, create("user", 1, at: 6, Self.ann))
        #expect(other.uids.map(\.uid) == [UID(0)], "whoever makes the same id means the same record")
        try world.push(&device, delete("user", 1, at: 7))
        let gone = try world.push(&again, create("user", 1, at: 5, Self.ann))
        #expect(gone.uids.map(\.uid) == [UID(0)], "it took effect once; that it was deleted since is told by the feed")
        #expect(try world.fetch("user", .id(id(1))) == nil)
    }

    @Test(arguments: [false, true], ["bio", "rank", "nickname"] as [FieldName])
    func `creates of one record give the same record in either order`(emptyFirst: Bool, field: FieldName) throws {
        let world = AuthorityWorld()
        let value: FieldValue = field == "rank" ? .integer(3) : .text("a")
        var (full, empty) = (Device(1), Device(2, principal: "ben"))
        // The clock of the device whose create leaves the field empty is ahead.
        let first = create("user", 1, at: 5, ["username": .text("ann"), field: value])
        let second = create("user", 1, at: 9, ["username": .text("ann"), field: .null])
        let third = create("user", 1, at: 9, ["username": .text("ann")])
        var conflicts: [FieldConflict] = []
        if emptyFirst { conflicts += try world.push(&empty, third).conflicts }
        conflicts += try world.push(&full, first).conflicts
        conflicts += try world.push(&empty, second).conflicts
        #expect(try world.value("user", 1, field) == value)
        #expect(conflicts.isEmpty, "nothing was lost")
    }

    @Test func `an edit of a field that nobody has set is no conflict, however old it is`() throws {
        let world = AuthorityWorld()
        var (ann, ben) = (Device(1), Device(2, principal: "ben"))
        try world.push(&ben, create("user", 1, at: 9, ["username": .text("ann")]))
        // Ann's device made the same record earlier, and filled the field before it could push.
        let both = [
            create("user", 1, at: 1, ["username": .text("ann")]),
            update("user", 1, at: 2, "bio", .text("hi")), update("user", 1, at: 2, "rank", .integer(3)),
        ]
        for mutation in both {
            let outcome = try world.push(&ann, mutation)
            #expect(outcome.conflicts.isEmpty)
        }
        #expect(try world.value("user", 1, "bio") == .text("hi"))
        #expect(try world.value("user", 1, "rank") == .integer(3))
    }

    @Test func `a create does not bring back in silence a value that a user has cleared`() throws {
        let world = AuthorityWorld()
        var (ann, ben) = (Device(1), Device(2, principal: "ben"))
        try world.push(&ann, create("user", 1, at: 1, ["username": .text("ann"), "bio": .text("hi")]))
        try world.push(&ann, update("user", 1, at: 7, "bio", .null, before: .text("hi"), seen: Version(1)))
        let outcome = try world.push(&ben, create("user", 1, at: 5, ["username": .text("ann"), "bio": .text("hi")]))
        #expect(try world.value("user", 1, "bio") == .null)
        #expect(outcome.conflicts.map(\.loser.value) == [.text("hi")])
    }

    @Test func `a repeated create is recognized even if its clock was in the future`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let year: Int64 = 365 * 86_400_000
        let first = try world.push(&device, create("user", 1, at: year, Self.ann))
        var again = Device(1, incarnation: 1)
        let later = AuthorityWorld.now.advanced(by: .seconds(3_600))
        #expect(try world.push(&again, create("user", 1, at: year, Self.ann), now: later) == first)
    }

    @Test func `edits of one record in one transaction are applied in order`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        try world.push(
            &device, create("user", 1, at: 1, Self.ann), update("user", 1, at: 2, "bio", .text("first")),
            update("user", 1, at: 3, "bio", .text("second")))
        #expect(try world.value("user", 1, "bio") == .text("second"))
        guard
            case .page(let page) = try world.page(
                world.cursor(0)),
            case .commits(let commits) = page.content
        else {
            Issue.record("no commits")
            return
        }
        #expect(
            commits == [
                Commit(
                    version: Version(1),
                    changes: [
                        RecordChange(
                            collection: "user", id: id(1),
                            effect: .created(uid: UID(0), ["username": .text("ann"), "bio": .text("second")]))
                    ])
            ])
    }

    @Test func `uids are counted per collection and never reused`() throws {
        let world = AuthorityWorld()
        var device = Device(1)
        let first = try world.push(
            &device, create("user", 1, Self.ann), create("avatar", 2, Self.picture(of: 1)), create("user", 3, Self.ann))
        #expect(first.uids.map(\.uid) == [UID(0), UID(0), UID(1)])
        try world.push(&device, delete("user", 3))
        #expect(try world.push(&device, create("user", 3, Self.ann)).rejection == nil, "a repeat")
        let next = try world.push(&device, create("user", 4, Self.ann))
        #expect(next.uids.map(\.uid) == [UID(2)])
    }

    @Test func `a later edit with the same value updates the stamp without a commit`() throws {
        let world = AuthorityWorld()
        var setter = Device(9)
        var a = Device(1)
        var b = Device(2)
        var c = Device(3)
        try world.push(&setter, create("user", 1, at: 0, Self.ann))
        try world.push(&a, update("user", 1, at: 5, "bio", .text("x"), seen: Version(1)))
        #expect(
            try world.push(&b, update("user", 1, at: 10, "bio", .text("x"), seen: Version(1))).version == Version(2))
        let lost = try world.push(&c, update("user", 1, at: 7, "bio", .text("y"), seen: Version(1)))
        #expect(lost.conflicts.map(\.loser.value) == [.text("y")])
        #expect(try world.value("user", 1, "bio") == .text("x"))
        #expect(try world.head() == Version(2))
    }

    @Test func `both values of a conflict are kept in the server's conflicts table`() throws {
        let world = AuthorityWorld()
        var setter = Device(9)
        var a = Device(1, principal: "anna")
        var b = Device(2, principal: "ben")
        try world.push(&setter, create("user", 1, at: 0, Self.ann))
        try world.push(&a, update("user", 1, at: 5, "bio", .text("x"), before: .text("o"), seen: Version(1)))
        let outcome = try world.push(
            &b, update("user", 1, at: 6, "bio", .text("y"), before: .text("o"), seen: Version(1)))
        let journal = try world.store.read { view in
            try view.conflicts(in: .default, after: 0, limit: 10)
        }
        #expect(journal.map(\.conflict) == outcome.conflicts)
        #expect(journal.count == 1)
        #expect(journal.first?.author.principal == b.principal)
        #expect(journal.first?.version == Version(3))
        #expect(journal.first?.conflict.base == .text("o"))
        #expect(journal.first?.conflict.winner.value == .text("y"))
        #expect(journal.first?.conflict.loser.value == .text("x"))
    }

    @Test func `the latest edit wins in any order of arrival`() throws {
        let edits: [(client: UInt64, at: Int64, value: String)] = [(1, 5, "p"), (2, 9, "q"), (3, 7, "r"), (4, 9, "s")]
        for order in permutations(Array(edits.indices)) {
            let world = AuthorityWorld()
            var setter = Device(9)
            try world.push(&setter, create("user", 1, at: 0, Self.ann))
            for index in order {
                var device = Device(edits[index].client)
                try world.push(
                    &device,
                    update("user", 1, at: edits[index].at, "bio", .text(edits[index].value), seen: Version(1)))
            }
            #expect(try world.value("user", 1, "bio") == .text("s"), "\(order)")
        }
    }

    @Test func `a stamp from the future is clamped to the permitted clock skew`() throws {
        let world = AuthorityWorld()
        var setter = Device(9)
        var future = Device(1)
        var honest = Device(2)
        try world.push(&setter, create("user", 1, at: 0, Self.ann))
        try world.push(&future, update("user", 1, at: 1 << 40, "bio", .text("late"), seen: Version(1)))
        let later = AuthorityWorld.now.advanced(by: .seconds(61))
        try world.push(&honest, update("user", 1, at: 61_000, "bio", .text("true"), seen: Version(1)), now: later)
        #expect(try world.value("user", 1, "bio") == .text("true"))
    }

    private func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.flatMap { item in permutations(items.filter { $0 != item }).map { [item] + $0 } }
    }
}

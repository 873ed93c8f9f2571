import SyncCore
import SyncModel

extension LocalStoreConformance {
    /// Rules for queries: every filter, order, and cursor gives what evaluation in memory gives.
    var queryChecks: [Check] {
        [
            Check("every filter finds the records that match it in memory") { fixture in
                let records = try fixture.createMixedUsers()
                let schema = try fixture.usersSchema
                for filter in Self.filters {
                    var query = RecordQuery("users", order: .field("age"))
                    query.filter = filter
                    let wanted = query.matches(among: records, schema: schema).map(\.id)
                    try fixture.expect(try fixture.store.records(matching: query).map(\.id), is: wanted, "\(filter)")
                    try fixture.expect(
                        try fixture.store.count(matching: query), is: wanted.count, "the count of \(filter)")
                    query.filter = !filter
                    let others = query.matches(among: records, schema: schema).map(\.id)
                    try fixture.expect(try fixture.store.records(matching: query).map(\.id), is: others, "!(\(filter))")
                    try fixture.expect(
                        wanted.count + others.count, is: records.count, "the records of \(filter) and of !")
                }
            },
            Check("pages that follow a cursor hold every record once, in every order") { fixture in
                let records = try fixture.createMixedUsers()
                let schema = try fixture.usersSchema
                for orders in Self.orders {
                    var query = RecordQuery("users", limit: 3)
                    query.orders = orders
                    var found: [RecordID] = []
                    while found.count <= records.count {
                        let page = try fixture.store.records(matching: query)
                        guard let last = page.last else { break }
                        found += page.map(\.id)
                        query.cursor = RecordCursor(of: last, orders: orders, schema: schema)
                    }
                    query.cursor = nil
                    query.limit = nil
                    let wanted = query.matches(among: records, schema: schema).map(\.id)
                    try fixture.expect(found, is: wanted, "the pages in the order \(orders)")
                }
            },
            Check("a query with an unknown field, a value of another type, or a cursor of another order is refused") {
                fixture in
                var query = RecordQuery("users")
                for filter: RecordFilter in [
                    RecordFilter("no_such", equals: .null), RecordFilter("age", equals: .text("36")),
                    .hasPrefix("age", "3"), .compare(.field("age"), .less, .null), .compare(.id, .equal, .integer(1)),
                ] {
                    query.filter = filter
                    try fixture.expect(.invalidValue) { [query] in
                        _ = try fixture.store.records(matching: query)
                    }
                }
                query.filter = .everything
                query.cursor = RecordCursor(values: [.integer(1), .null])
                try fixture.expect(.invalidValue) { [query] in
                    _ = try fixture.store.records(matching: query)
                }
            },
            Check("queries compare bytes, and order by id or by a field") { fixture in
                let composed = "caf\u{E9}"
                let decomposed = "cafe\u{301}"
                let (one, _) = try fixture.createUser(composed)
                let (two, _) = try fixture.createUser(decomposed)
                let (three, _) = try fixture.createUser("zoe")
                func ids(_ query: RecordQuery) throws -> [RecordID] {
                    try fixture.store.records(matching: query).map(\.id)
                }
                let found = try ids(RecordQuery("users", where: [.init("username", equals: .text(composed))]))
                try fixture.expect(found, is: [one], "the users called \(composed)")
                try fixture.expect(try ids(RecordQuery("users")), is: [one, two, three].sorted(), "users by id")
                let named = try ids(RecordQuery("users", order: .field("username")))
                try fixture.expect(named, is: [two, one, three], "users by name")
                let page = try ids(RecordQuery("users", limit: 1, offset: 1))
                try fixture.expect(page, is: [[one, two, three].sorted()[1]], "the second user")
                let none = RecordQuery("users", where: [.init("age", equals: .null)], limit: 1)
                try fixture.expect(try fixture.store.count(matching: none), is: 3, "the users without an age")
                try fixture.expect(.invalidValue) {
                    _ = try fixture.store.records(matching: RecordQuery("users", order: .field("no_such")))
                }
                try fixture.expect(.unknownCollection) {
                    _ = try fixture.store.records(matching: RecordQuery("planets"))
                }
            },
            Check("a query of one space finds only its records") { fixture in
                let (home, _) = try fixture.createUser("ada")
                let away = fixture.id()
                _ = try fixture.written(.create("users", away, ["username": .text("ada")]), in: "team")
                for (space, found) in [(nil, [home, away]), (fixture.space, [home]), ("team", [away]), ("other", [])]
                    as [(SpaceID?, [RecordID])]
                {
                    for filter in [RecordFilter.everything, .init("username", equals: .text("ada"))] {
                        var query = RecordQuery("users", where: [filter])
                        query.space = space
                        let ids = try fixture.store.records(matching: query).map(\.id)
                        try fixture.expect(ids, is: found.sorted(), "the users of \(space?.rawValue ?? "all spaces")")
                        let count = try fixture.store.count(matching: query)
                        try fixture.expect(count, is: found.count, "their number")
                    }
                }
            },
            Check("values of every type come back as they were") { fixture in
                let (user, _) = try fixture.createUser("n\u{E4}me \u{1F3DD}")
                let avatar = fixture.id()
                let patch: Patch = [
                    "title": .text(""), "author": .reference(user), "scale": .real(0.1),
                    "kind": .json("{\"a\":[1,null]}"),
                ]
                try fixture.commit(
                    .create("avatars", avatar, patch),
                    .update(
                        "users", user, ["age": .integer(.min), "active": .boolean(false), "avatar": .reference(avatar)])
                )
                try fixture.expect(
                    try fixture.store.record("avatars", .id(avatar))?.values,
                    is: [.text(""), .reference(user), .real(0.1), .json("{\"a\":[1,null]}")], "the avatar")
                try fixture.expect(
                    try fixture.user(user)?.values,
                    is: [.text("n\u{E4}me \u{1F3DD}"), .integer(.min), .boolean(false), .reference(avatar)], "the user")
                try fixture.commit(.update("users", user, ["age": .null]))
                try fixture.expect(try fixture.user(user)?.values[1], is: .null, "a cleared field")
            },
        ]
    }

    private static var filters: [RecordFilter] {
        let age = RecordTerm.field("age")
        let name = RecordTerm.field("username")
        let comparisons = RecordFilter.Comparison.allCases.flatMap { comparison -> [RecordFilter] in
            [.compare(age, comparison, .integer(30)), .compare(name, comparison, .text("bob"))]
        }
        return comparisons + [
            .everything, .any([]), RecordFilter("age", equals: .null), .compare(age, .notEqual, .null),
            .isIn("age", [.integer(20), .integer(40)]), .isIn("age", [.integer(20), .null]), .isIn("age", []),
            .hasPrefix("username", "b"), .hasPrefix("username", ""), .hasPrefix("username", "\u{10FFFF}"),
            .hasPrefix("username", "\u{E9}"), .contains("username", "o"), .contains("username", "'; --"),
            .compare(.uid, .less, .integer(0)),
            .compare(age, .less, .integer(30)) || .hasPrefix("username", "z"),
            .compare(age, .less, .integer(30)) && !(.contains("username", "o") || RecordFilter("age", equals: .null)),
            .all([.any([.compare(age, .greater, .integer(10)), .compare(name, .less, .text("c"))]), .not(.any([]))]),
        ]
    }

    private static var orders: [[RecordOrder]] {
        let age = RecordTerm.field("age")
        let name = RecordTerm.field("username")
        return [
            [.id], [RecordOrder(.id, descending: true)], [.uid], [RecordOrder(age)],
            [RecordOrder(age, descending: true)],
            [RecordOrder(age, descending: true), RecordOrder(name)],
            [RecordOrder(age, missing: .integer(30))], [RecordOrder(age, descending: true, missing: .integer(30))],
            [RecordOrder(age, missing: .integer(-1)), RecordOrder(name, descending: true, missing: .text("m"))],
            [RecordOrder(name, descending: true), RecordOrder(age), RecordOrder(.id, descending: true)],
        ]
    }
}

extension StoreFixture {
    fileprivate var usersSchema: ModelSchema {
        get throws {
            guard let schema = store.catalog["users"] else {
                throw ConformanceViolation(rule: rule, detail: "the catalog has no collection users")
            }
            return schema
        }
    }

    /// Creates users with and without an age, and with names beyond ASCII, and returns them.
    fileprivate func createMixedUsers() throws -> [Record] {
        let names = [
            "bob", "alice", "bobby", "\u{E9}mile", "e\u{301}mile", "zoe", "\u{10FFFF}", "Bob", "o'; --", "carl",
        ]
        for (index, name) in names.enumerated() {
            var patch: Patch = ["username": .text(name)]
            if index % 3 != 0 { patch.set("age", to: .integer(Int64(index % 5 * 10))) }
            _ = try store.commit([.create("users", id(), patch)], in: space, now: now())
        }
        return try store.records(matching: RecordQuery("users"))
    }
}

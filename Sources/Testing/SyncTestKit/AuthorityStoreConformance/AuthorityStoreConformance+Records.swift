import SyncAuthority
import SyncModel

extension AuthorityStoreConformance {
    static var recordChecks: [Check] {
        [
            Check("a record comes back as it was put, whatever it holds") { fixture in
                for (index, value) in values.enumerated() {
                    let record = AuthorityStoreFixture.record(
                        UInt64(index), uid: Int64(index),
                        fields: [
                            ("a", value, AuthorityStoreFixture.origin(1, 5)),
                            ("b", .null, AuthorityStoreFixture.origin(.max, .max, .max)),
                        ])
                    let found = try fixture.write { transaction in
                        try transaction.put(record)
                        return try transaction.record(record.address)
                    }
                    try fixture.expect(found, record, "record \(index)")
                }
            },
            Check("a field comes back with the edits that set the same value") { fixture in
                let origin = AuthorityStoreFixture.origin(1, 5)
                let bare = AuthorityStoreFixture.record(1, uid: 1)
                let stamps = (1...3).map { AuthorityStoreFixture.stamp($0, UInt64($0)) }
                let record = StoredRecord(
                    address: bare.address, uid: bare.uid, space: bare.space, version: bare.version,
                    creation: bare.creation, deletion: nil,
                    fields: [
                        StoredField(name: "a", value: .text("x"), origin: origin, equalEdits: [stamps[2], stamps[0]]),
                        StoredField(name: "b", value: .text("x"), origin: origin),
                        StoredField(name: "c", value: .null, origin: origin, equalEdits: [stamps[1]]),
                    ])
                for record in [record, bare] {
                    try fixture.write { transaction in try transaction.put(record) }
                    let found = try fixture.read { view in try view.record(record.address) }
                    try fixture.expect(found, record, "the record")
                }
            },
            Check("a record is found by its id and by its uid, and replaced as a whole") { fixture in
                let first = AuthorityStoreFixture.record(
                    1, uid: .max, fields: [("a", .text("old"), AuthorityStoreFixture.origin(1, 5))])
                let second = AuthorityStoreFixture.record(
                    1, uid: .max, version: 7, fields: [("b", .text("new"), AuthorityStoreFixture.origin(7, 9, 4))])
                let gone = AuthorityStoreFixture.record(
                    1, uid: .max, version: 9, deletion: AuthorityStoreFixture.stamp(.max, 8))
                for record in [first, second, gone] {
                    try fixture.write { transaction in try transaction.put(record) }
                    let (byID, byUID) = try fixture.read { view in
                        (try view.record(record.address), try view.record("user", record.uid))
                    }
                    try fixture.expect(byID, record, "by id")
                    try fixture.expect(byUID, record, "by uid")
                }
                let others = try fixture.read { view in
                    (
                        try view.record(RecordAddress("avatar", AuthorityStoreFixture.id(1))),
                        try view.record("avatar", UID(.max)), try view.record("user", UID(0)),
                        try view.record("user", UID(-1))
                    )
                }
                try fixture.expect(others.0, nil, "the id in another collection")
                try fixture.expect(others.1, nil, "the uid in another collection")
                try fixture.expect(others.2, nil, "another uid")
                try fixture.expect(others.3, nil, "uid -1")
            },
            Check("uids count from 0 by collection, and one that was taken is not given again") { fixture in
                func take(_ count: Int, _ collection: CollectionName) throws -> UID {
                    try fixture.write { transaction in
                        try transaction.takeUIDs(count, in: collection)
                    }
                }
                try fixture.expect(try take(3, "user"), UID(0), "the first")
                let second = try take(1, "user")
                try fixture.expect(second > UID(2), true, "whether \(second) is after three others")
                try fixture.expect(try take(2, "avatar"), UID(0), "the first of another collection")
                let third = try take(2, "user")
                try fixture.expect(third > second, true, "whether \(third) is after \(second)")
            },
            Check("live records are walked in the order of their ids, a page at a time") { fixture in
                let numbers: [UInt64] = [5, 3, 900, 1, 256, 255, 7]
                try fixture.write { transaction in
                    for (uid, number) in numbers.enumerated() {
                        try transaction.put(
                            AuthorityStoreFixture.record(
                                number, uid: Int64(uid),
                                fields: [("a", .text("x"), AuthorityStoreFixture.origin(1, 5))]))
                    }
                    try transaction.put(AuthorityStoreFixture.record(4, uid: 100, space: "other"))
                    try transaction.put(AuthorityStoreFixture.record(6, of: "avatar", uid: 0))
                    try transaction.put(
                        AuthorityStoreFixture.record(2, uid: 101, deletion: AuthorityStoreFixture.stamp(1)))
                }
                for limit in 1...8 {
                    for bytes in [0, 1, AuthorityStoreFixture.ample] {
                        var found: [UInt64] = []
                        var last: RecordID?
                        var isComplete = false
                        while !isComplete {
                            let slice = try fixture.read { view in
                                try view.rows(
                                    in: .default, of: "user", after: last,
                                    budget: PageBudget(rows: limit, bytes: bytes))
                            }
                            let most = bytes < 2 ? 1 : limit
                            try fixture.expect(
                                slice.records.count, min(most, numbers.count - found.count), "rows of a page")
                            try fixture.expect(slice.bytes > 0, true, "whether the page weighs something")
                            found += slice.records.map(\.address.id.bits.low)
                            last = slice.records.last?.address.id
                            isComplete = slice.isComplete
                        }
                        try fixture.expect(found, numbers.sorted(), "the walk with pages of \(limit)")
                    }
                }
                let rest = try fixture.read { view in
                    try view.rows(
                        in: .default, of: "user", after: AuthorityStoreFixture.id(900),
                        budget: PageBudget(rows: 1, bytes: 1))
                }
                try fixture.expect(rest, RowSlice(records: [], bytes: 0, isComplete: true), "after the last")
            },
            Check("a page shows records as clients of a schema see them") { fixture in
                let (early, late) = (AuthorityStoreFixture.origin(1, 5), AuthorityStoreFixture.origin(4, 9))
                let created = [("bio", FieldValue.text("\u{7}\"é\u{1F600}"), early), ("rank", .integer(-7), early)]
                let edited = [
                    ("active", FieldValue.boolean(false), late), ("bio", .null, early),
                    ("data", .json(#"{"a": 1.10}"#), late),
                    ("later", .reference(AuthorityStoreFixture.id(3)), late), ("rank", .real(0.5), early),
                ]
                try fixture.write { transaction in
                    try transaction.put(AuthorityStoreFixture.record(1, uid: 0))
                    for (number, fields) in [(2, created), (3, edited)]
                        as [(UInt64, [(String, FieldValue, FieldOrigin)])]
                    {
                        for version in (number == 2 ? [1, 4] : [4, 7]) as [Int64] {
                            let id = 10 * number + UInt64(version)
                            try transaction.put(
                                AuthorityStoreFixture.record(
                                    id, uid: Int64(id), version: version,
                                    fields: fields.map { (FieldName(rawValue: $0.0) ?? "", $0.1, $0.2) }))
                        }
                    }
                }
                let schemas = [
                    ModelSchema(collection: "user", fields: []),
                    ModelSchema(
                        collection: "user", fields: [.integer("rank"), .text("bio"), .text("zip"), .text("a")]),
                    ModelSchema(
                        collection: "user",
                        fields: [.json("data"), .boolean("active"), .text("bio"), .real("rank"), .text("later")]),
                    ModelSchema(
                        collection: "user",
                        fields: [
                            .reference("later", to: "avatar"), .text("rank"), .json("data"), .boolean("active"),
                            .text("bio"),
                        ]),
                ]
                let budget = PageBudget(rows: 9, bytes: AuthorityStoreFixture.ample)
                for schema in schemas {
                    let (stored, shown) = try fixture.read { view in
                        (
                            try view.rows(in: .default, of: "user", after: nil, budget: budget),
                            try view.records(in: .default, of: schema, after: nil, budget: budget)
                        )
                    }
                    try fixture.expect(stored.records.count, 5, "the count of records")
                    try fixture.expect(shown, SnapshotSlice(stored, schema: schema), "the records")
                    try fixture.expect(shown.rows.count, 5, "the count of rows")
                    try fixture.expect(
                        shown.rows.lastRecord, stored.records.last?.address.id, "the last record")
                }
            },
            Check("references are found by target and field, and removed one by one") { fixture in
                let target = RecordAddress("user", AuthorityStoreFixture.id(1))
                let author = ReferenceField("avatar", "author")
                let owner = ReferenceField("avatar", "owner")
                let referrers = (1...4).map {
                    Referrer(RecordAddress("avatar", AuthorityStoreFixture.id($0)), "author")
                }
                let second = Referrer(RecordAddress("avatar", AuthorityStoreFixture.id(1)), "owner")
                try fixture.write { transaction in
                    for referrer in referrers.reversed() { try transaction.link(referrer, to: target) }
                    try transaction.link(second, to: target)
                    try transaction.link(referrers[0], to: RecordAddress("user", AuthorityStoreFixture.id(2)))
                }
                func found(_ fields: [ReferenceField], limit: Int = 100) throws -> Set<Referrer> {
                    let list = try fixture.read { view in
                        try view.referrers(of: target, through: fields, limit: limit)
                    }
                    try fixture.expect(list.count, Set(list).count, "referrers without their repeats")
                    return Set(list)
                }
                try fixture.expect(try found([author]), Set(referrers), "by author")
                try fixture.expect(try found([owner]), [second], "by owner")
                try fixture.expect(try found([author, owner]).count, 5, "by both")
                try fixture.expect(try found([author, owner], limit: 3).count, 3, "three at most")
                try fixture.expect(try found([]), [], "by no field")
                let listed = try fixture.read { view in
                    try view.referrers(of: target, through: [owner, author], limit: 4)
                }
                try fixture.expect(listed, [second] + referrers.prefix(3), "field by field, ordered by id")
                try fixture.write { transaction in
                    try transaction.unlink(referrers[0], from: target)
                }
                try fixture.expect(try found([author]), Set(referrers.dropFirst()), "after one has let go")
                try fixture.expect(try found([owner]), [second], "the other field")
            },
        ]
    }

    /// Values that stores and their formats are known to corrupt.
    static let values: [FieldValue] = [
        .null, .boolean(true), .boolean(false), .integer(0), .integer(.max), .integer(.min),
        .integer(9_007_199_254_740_993), .real(0), .real(-0.0), .real(1), .real(0.1), .real(.greatestFiniteMagnitude),
        .real(.leastNonzeroMagnitude), .real(1e15), .text(""), .text("caf\u{E9}"), .text("cafe\u{301}"),
        .text("\u{1}\n\"\\/\u{7F}\u{2028}\u{FEFF}"), .text("null"), .text(#"{"$ref":"x"}"#), .text("🏝️"),
        .reference(AuthorityStoreFixture.id(0)), .json("{}"), .json("[1,2.50,\"x\",null]"), .json("null"),
        .json("1.0"), .json(#"{"b":1,"a":2}"#),
    ]
}

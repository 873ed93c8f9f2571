import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

/// Tests a device whose later build knows fields that the server sent to its earlier one.
@Suite(.ring(.unit)) struct NewFieldsTests {
    private static let later = SchemaCatalog([
        ModelSchema(
            collection: "users",
            fields: [.text("username", required: true, bytes: 1...64)]
                + [.text("motto"), .integer("age")])
    ])

    private static func page(_ content: PullPage.Content, to version: Int64, of epoch: Epoch) -> PullPage {
        PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: content,
            cursor: Cursor(rawValue: "at-\(version)"), version: Version(version), head: Version(version),
            hasMore: false, notices: [])
    }

    private static func commit(_ version: Int64, _ effect: RecordChange.Effect) -> Commit {
        Commit(
            version: Version(version), changes: [RecordChange(collection: "users", id: Samples.id(1), effect: effect)])
    }

    /// Pulls what another device wrote, and then an own edit, as an earlier build.
    private func writesAsEarlierBuild(_ store: SQLiteStore, mottoAt version: Int64) throws {
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let fields: Patch =
            version == 1 ? ["username": .text("ada"), "motto": .text("old")] : ["username": .text("ada")]
        var commits = [Self.commit(1, .created(uid: UID(7), fields))]
        if version == 2 { commits.append(Self.commit(2, .updated(["motto": .text("old")]))) }
        _ = try store.apply(
            Self.page(.commits(commits), to: version, of: epoch), after: nil, brake: nil, now: Samples.now)
        _ = try store.commit(
            [.update("users", Samples.id(1), ["username": .text("eve"), "age": .integer(40)])], in: .default,
            now: Samples.now)
        let limit = BatchLimit(transactions: 9, bytes: 100_000)
        let number = try #require(try store.takeBatch(limit, now: Samples.now)).transactions[0].number
        let own = Self.commit(version + 1, .updated(["username": .text("eve"), "age": .integer(40)]))
        _ = try store.apply(
            Self.page(.commits([own]), to: version + 1, of: epoch), after: Cursor(rawValue: "at-\(version)"),
            brake: nil,
            now: Samples.now)
        _ = try store.record(
            [
                TransactionResult(
                    number: number, outcome: .applied(version: Version(version + 1), uids: [], conflicts: []))
            ],
            of: try store.session().identity, now: Samples.now)
    }

    @Test(arguments: [1, 2] as [Int64], [false, true])
    func `a value that an earlier build did not know is not taken for one of this device`(
        mottoAt version: Int64, hasPending: Bool
    ) throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            try writesAsEarlierBuild(store, mottoAt: version)
            if hasPending {
                _ = try store.commit(
                    [.update("users", Samples.id(1), ["age": .integer(41)])], in: .default, now: Samples.now)
            }
            store.close()
        }
        let store = try scratch.open(Self.later)
        #expect(try store.record("users", .id(Samples.id(1)))?.values[1] == .text("old"))
        let restored = Epoch(rawValue: "restored")
        _ = try store.adopt(restored, as: AccountID(rawValue: "ada"))
        // The restored server has lost this device's edit, and another device has changed everything since.
        let shown = Record(
            id: Samples.id(1), uid: UID(7), version: Version(9),
            values: [.text("zoe"), .text("new"), .integer(50)])
        let rows = [SnapshotRows(collection: "users", records: [shown])]
        _ = try store.apply(
            Self.page(.snapshot(rows, isFirst: true, isLast: true), to: 9, of: restored), after: nil, brake: nil,
            now: Samples.now)
        let offered = try store.journal(state: .active, limit: 9).flatMap { entry in
            if case .lost(let transaction) = entry.event { transaction.mutations.map(\.patch) } else { [] as [Patch] }
        }
        // The user has replaced the age that is pending.
        let own: Patch = hasPending ? ["username": .text("eve")] : ["username": .text("eve"), "age": .integer(40)]
        #expect(offered == [own])
    }

    // MARK: Records ahead of the change feed

    /// Downloads a snapshot that shows a user as of version 5, and then the feed up to version 3, as an earlier build.
    private func downloadsAsEarlierBuild(_ store: SQLiteStore) throws -> Epoch {
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let shown = Record(
            id: Samples.id(1), uid: UID(7), version: Version(5), values: [.text("eve"), .null],
            fieldVersions: [Version(5), Version(1)], unknown: ["motto": .text("new")])
        let rows = PullPage.Content.snapshot(
            [SnapshotRows(collection: "users", records: [shown])], isFirst: true, isLast: true)
        let first = PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: rows, cursor: Cursor(rawValue: "at-2"),
            version: Version(2), head: Version(5), hasMore: true, notices: [])
        _ = try store.apply(first, after: nil, brake: nil, now: Samples.now)
        try follow(store, epoch, from: 2, Self.commit(3, .updated(["motto": .text("old")])))
        return epoch
    }

    private func follow(_ store: SQLiteStore, _ epoch: Epoch, from version: Int64, _ commits: Commit...) throws {
        let end = version + Int64(commits.count)
        let page = PullPage(
            space: .default, epoch: epoch, serverTime: .zero, content: .commits(commits),
            cursor: Cursor(rawValue: "at-\(end)"), version: Version(end), head: Version(5), hasMore: end < 5,
            notices: [])
        _ = try store.apply(page, after: Cursor(rawValue: "at-\(version)"), brake: nil, now: Samples.now)
    }

    @Test(arguments: [false, true])
    func `a build that learns a field during a snapshot gets the last value of the feed`(hasPending: Bool) throws {
        let scratch = try Scratch()
        let epoch: Epoch
        do {
            let store = try scratch.open()
            epoch = try downloadsAsEarlierBuild(store)
            if hasPending {
                _ = try store.commit(
                    [.update("users", Samples.id(1), ["age": .integer(41)])], in: .default, now: Samples.now)
            }
            store.close()
        }
        let store = try scratch.open(Self.later)
        #expect(try store.record("users", .id(Samples.id(1)))?.values[1] == .text("old"))
        try follow(
            store, epoch, from: 3, Self.commit(4, .updated(["motto": .text("new")])),
            Self.commit(5, .updated(["username": .text("eve")])))
        let record = try #require(try store.record("users", .id(Samples.id(1))))
        #expect(record.values == [.text("eve"), .text("new"), hasPending ? .integer(41) : .null])
        #expect(record.version(ofFieldAt: 1) == Version(4) && record.version == Version(5))
        try store.verify()
    }

    @Test func `a field that a build learns during a snapshot is not older than its record`() throws {
        let scratch = try Scratch()
        let epoch = Epoch(rawValue: "first")
        do {
            let store = try scratch.open()
            _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
            try store.follow(.default)
            let shown = Record(id: Samples.id(1), uid: UID(7), version: Version(4), values: [.text("eve"), .null])
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    [SnapshotRows(collection: "users", records: [shown])], isFirst: true, isLast: true),
                cursor: Cursor(rawValue: "at-3"), version: Version(3), head: Version(5), hasMore: true, notices: [])
            _ = try store.apply(page, after: nil, brake: nil, now: Samples.now)
            store.close()
        }
        let store = try scratch.open(Self.later)
        try follow(
            store, epoch, from: 3, Self.commit(4, .created(uid: UID(7), ["username": .text("eve")])),
            Self.commit(5, .updated(["age": .integer(7)])))
        let record = try #require(try store.record("users", .id(Samples.id(1))))
        #expect(record.values == [.text("eve"), .null, .integer(7)])
        #expect((0..<3).map { record.version(ofFieldAt: $0) } == [Version(4), Version(4), Version(5)])
        try store.verify()
    }

    @Test(arguments: [false, true])
    func `a delete has not seen the fields that the build does not know`(changesBoth: Bool) throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let motto: Patch = changesBoth ? ["motto": .text("new"), "age": .integer(7)] : ["motto": .text("new")]
        let commits = [
            Self.commit(1, .created(uid: UID(7), ["username": .text("ada")])), Self.commit(2, .updated(motto)),
        ]
        _ = try store.apply(Self.page(.commits(commits), to: 2, of: epoch), after: nil, brake: nil, now: Samples.now)
        _ = try store.commit([.delete("users", Samples.id(1))], in: .default, now: Samples.now)
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 9, bytes: 9_999), now: Samples.now))
        #expect(
            batch.transactions[0].transaction.mutations.map(\.intent)
                == [.delete(seen: Version(2), unshown: ["motto"])])
    }

    // MARK: Declarations that differ from the server's

    private static let score = FieldSchema.integer("score")

    private static func models(_ users: [FieldSchema], pets: [FieldSchema]? = nil) -> SchemaCatalog {
        SchemaCatalog(
            [ModelSchema(collection: "users", fields: [.text("username", required: true, bytes: 1...64)] + users)]
                + (pets.map { [ModelSchema(collection: "pets", fields: $0)] } ?? []))
    }

    /// Pulls a user with a field, and two pets, that the earlier build does not know.
    private func pullsAsEarlierBuild(_ store: SQLiteStore) throws {
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let user = RecordChange(
            collection: "users", id: Samples.id(1),
            effect: .created(uid: UID(1), ["username": .text("ada"), "score": .integer(7)]))
        let pets = [
            RecordChange(
                collection: "pets", id: Samples.id(2),
                effect: .created(
                    uid: UID(1),
                    ["name": .text("Bo"), "weight": .real(2.0), "owner": .reference(Samples.id(1))])),
            RecordChange(
                collection: "pets", id: Samples.id(3), effect: .created(uid: UID(2), ["weight": .real(3.5)])),
        ]
        let page = PullPage.Content.commits([Commit(version: Version(1), changes: [user] + pets)])
        _ = try store.apply(Self.page(page, to: 1, of: epoch), after: nil, brake: nil, now: Samples.now)
    }

    /// Everything in the database file: its schema, and the contents of all tables.
    private func contents(of scratch: Scratch) throws -> [String] {
        let raw = try RawDatabase(scratch.file)
        var contents = try raw.run("SELECT sql FROM sqlite_schema ORDER BY name")
        for table in try raw.run("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
            let columns = try raw.run("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('\(table)')")
            contents += try raw.run("SELECT \(columns.joined(separator: " || ',' || ")) FROM \"\(table)\" ORDER BY 1")
        }
        return contents
    }

    private static let otherDeclarations: [(SchemaCatalog, String)] = [
        (
            models([.integer("age"), .text("score")]),
            """
            users.score is text in this build, but a record that the server has sent has a value of type integer; declare \
            the field with this type, or give it another name
            """
        ),
        (
            models([.integer("age")], pets: [.text("name"), .integer("weight")]),
            """
            pets.weight is integer in this build, but a record that the server has sent has a value of type real; declare \
            the field with this type, or give it another name
            """
        ),
        (
            models([.integer("age")], pets: [.text("owner")]),
            """
            pets.owner is text in this build, but a record that the server has sent has a value of type reference; declare \
            the field with this type, or give it another name
            """
        ),
    ]

    /// Regression test: such values were dropped. The device was "in sync" with other data than its peers.
    @Test(arguments: otherDeclarations, [false, true])
    func `a declaration that does not fit what the server has sent is refused, and nothing is lost`(
        other: (catalog: SchemaCatalog, message: String), isDeleted: Bool
    ) throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            try pullsAsEarlierBuild(store)
            // Then only the base has the value. The record shows it again if the server rejects the deletion.
            if isDeleted { _ = try store.commit([.delete("users", Samples.id(1))], in: .default, now: Samples.now) }
            store.close()
        }
        let before = try contents(of: scratch)
        let error = #expect(throws: StoreError.self) { try scratch.open(other.catalog) }
        #expect(error?.code == .incompatibleModels)
        #expect(error?.message == other.message)
        #expect(try contents(of: scratch) == before)

        // The earlier build works as before.
        do {
            let earlier = try scratch.open()
            try earlier.verify()
            #expect(try earlier.outboxSummary().waiting == (isDeleted ? 1 : 0))
            _ = try earlier.commit([Samples.create(4, "eve")], in: .default, now: Samples.now)
            earlier.close()
        }
        let right = Self.models(
            [.integer("age"), Self.score],
            pets: [.text("name"), .real("weight"), .reference("owner", to: "users")])
        let store = try scratch.open(right)
        try store.verify()
        if !isDeleted { #expect(try store.record("users", .id(Samples.id(1)))?.values[2] == .integer(7)) }
        let pets = try store.records(matching: RecordQuery("pets")).map(\.values)
        #expect(pets == [[.text("Bo"), .real(2), .reference(Samples.id(1))], [.null, .real(3.5), .null]])
    }

    /// Limits hold for new writes only. A reference is stored as an id, which does not show its target.
    @Test func `limits that values exceed, and another target of references, keep the values`() throws {
        let scratch = try Scratch()
        do {
            let store = try scratch.open()
            try pullsAsEarlierBuild(store)
            store.close()
        }
        let other = Self.models(
            [.integer("age"), Self.score.bounded(by: .integer(0...5))],
            pets: [.text("name", bytes: 5...9), .reference("owner", to: "pets"), .text("color")])
        let store = try scratch.open(other)
        try store.verify()
        #expect(try store.record("users", .id(Samples.id(1)))?.values[2] == .integer(7))
        let pet = try #require(try store.record("pets", .id(Samples.id(2))))
        #expect(pet.values == [.text("Bo"), .reference(Samples.id(1)), .null])
        #expect(pet.unknown == ["weight": .real(2)])
    }
}

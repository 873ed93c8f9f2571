import SyncCore
import SyncModel
import SyncStoreSQLite
import Testing

/// The base of a record with pending changes is stored only where it does not follow from the row.
@Suite struct BaseTests {
    private static let users = ModelSchema(
        collection: "users",
        fields: [.text("username", required: true, bytes: 1...64), .integer("age"), .real("height")])
    private static let epoch = Epoch(rawValue: "first")

    private static let shown: Record = {
        var record = Record(
            id: Samples.id(1), uid: UID(1), version: Version(9),
            creating: ["username": .text("one"), "age": .integer(40)], schema: users)
        record.fieldVersions = [Version(9), Version(3), Version(2)]
        return record
    }()

    /// A store that has received one record.
    private let scratch: Scratch
    private let store: SQLiteStore

    init() throws {
        scratch = try Scratch()
        store = try scratch.open(SchemaCatalog([Self.users])) { $0.connections = .single }
        _ = try store.adopt(Self.epoch, as: AccountID(rawValue: "ada"))
        _ = try store.follow(.default)
        let rows = [SnapshotRows(collection: "users", records: [Self.shown])]
        try apply(.snapshot(rows, isFirst: true, isLast: true), at: 9, after: nil)
    }

    private func apply(_ content: PullPage.Content, at version: Int64, after cursor: String?) throws {
        let page = PullPage(
            space: .default, epoch: Self.epoch, serverTime: HybridTime(wall: Samples.now, counter: 0),
            content: content, cursor: Cursor(rawValue: "c\(version)"), version: Version(version),
            head: Version(version), hasMore: false)
        _ = try store.apply(page, after: cursor.map(Cursor.init(rawValue:)), brake: nil, now: Samples.now)
    }

    @discardableResult
    private func edit(_ patch: Patch) throws -> OutboxSequence {
        try #require(
            try store.commit([.update("users", Samples.id(1), patch)], in: .default, now: Samples.now))
    }

    private func current() throws -> [FieldValue]? { try store.record("users", .id(Samples.id(1)))?.values }

    private func bases() throws -> [String] { try RawDatabase(scratch.file).run("SELECT count(*) FROM sync_base") }

    @Test func `the base of an edited record is its row with the edits undone`() throws {
        try edit(["username": .text("two"), "height": .real(1.5)])
        try edit(["age": .null])
        try edit(["username": .text("three")])
        #expect(try bases() == ["0"])
        #expect(try current() == [.text("three"), .null, .real(1.5)])
        #expect(try store.shownRecord("users", Samples.id(1)) == Self.shown)
        try store.verify()
    }

    /// Cancelling an edit also cancels those after it.
    @Test(arguments: 0..<3) func `cancelled edits leave the values of the earlier ones`(first: Int) throws {
        let patches: [Patch] = [["username": .text("two")], ["age": .integer(41)], ["username": .text("three")]]
        let sequences = try patches.map { try edit($0) }
        try store.cancel(sequences[first], now: Samples.now)
        var expected = Self.shown.values
        for (name, value) in patches[..<first].joined() { expected[Self.users.position(of: name) ?? 0] = value }
        #expect(try current() == expected)
        #expect(try store.shownRecord("users", Samples.id(1)) == Self.shown)
        #expect(try bases() == [first == 0 ? "0" : "1"])
        try store.verify()
    }

    @Test func `a deletion after an edit keeps the base, and is undone`() throws {
        try edit(["username": .text("two")])
        let deletion = try #require(
            try store.commit([.delete("users", Samples.id(1))], in: .default, now: Samples.now))
        #expect(try bases() == ["1"])
        #expect(try current() == nil)
        #expect(try store.shownRecord("users", Samples.id(1)) == Self.shown)
        try store.cancel(deletion, now: Samples.now)
        #expect(try current() == [.text("two"), .integer(40), .null])
        #expect(try store.shownRecord("users", Samples.id(1)) == Self.shown)
        try store.verify()
    }

    @Test func `a change by the server is merged with the edits, and its base is stored`() throws {
        let sequence = try edit(["username": .text("two")])
        let patch: Patch = ["username": .text("server"), "age": .integer(50)]
        let change = RecordChange(collection: "users", id: Samples.id(1), effect: .updated(patch))
        try apply(.commits([Commit(version: Version(10), changes: [change])]), at: 10, after: "c9")
        #expect(try current() == [.text("two"), .integer(50), .null])
        try edit(["age": .integer(51)])
        let base = try #require(try store.shownRecord("users", Samples.id(1)))
        #expect(base.values == [.text("server"), .integer(50), .null])
        #expect(base.fieldVersions == [Version(10), Version(10), Version(2)])
        try store.cancel(sequence, now: Samples.now)
        #expect(try current() == [.text("server"), .integer(50), .null])
        try store.verify()
    }

    @Test func `a new history of the server keeps the values that the old one has shown`() throws {
        try edit(["username": .text("two")])
        _ = try store.adopt(Epoch(rawValue: "second"), as: AccountID(rawValue: "ada"))
        #expect(try bases() == ["1"])
        #expect(try current() == [.text("two"), .integer(40), .null])
        let edits = try store.outbox(limit: 10).flatMap(\.transaction.mutations).map(\.intent)
        #expect(
            edits == [
                .update([FieldEdit(field: "username", value: .text("two"), before: .text("one"), seen: .zero)])
            ])
        try store.verify()
    }
}

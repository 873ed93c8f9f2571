import Foundation
import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

@testable import RecordImport

/// A store in a temporary folder that is deleted at the end of the test.
private final class Testbed {
    let folder: String
    let store: SQLiteStore

    init() throws {
        folder = NSTemporaryDirectory() + "tombolo-import-\(UUID().uuidString)"
        var random = SystemRandomNumberGenerator()
        store = try SQLiteStore.open(
            StoreConfiguration(file: folder + "/import.sqlite"), catalog: ImportSamples.catalog,
            now: WallTime(milliseconds: 1_700_000_000_000), random: &random)
    }

    deinit {
        store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    func run(
        _ text: String, in space: SpaceID? = nil, strict: Bool = false, source: String = "test"
    ) throws -> ImportSummary {
        let importer = Importer(
            store: store, space: space, identity: RecordIdentity(source: source), rules: { patch, _ in patch },
            now: { WallTime(milliseconds: 1_700_000_000_000) })
        return try importer.run(ImportSamples.jsonLines.read(Array(text.utf8)), strict: strict) { _, _ in }
    }

    /// Sends the first transaction of the outbox, which the server rejects.
    func reject(_ rejection: Rejection) throws {
        let now = WallTime(milliseconds: 1)
        let batch = try #require(try store.takeBatch(BatchLimit(transactions: 1, bytes: .max), now: now))
        let result = TransactionResult(number: batch.transactions[0].number, outcome: .rejected(rejection))
        _ = try store.record([result], of: batch.identity, now: now)
    }

    func count(_ collection: CollectionName) throws -> Int {
        try store.count(matching: RecordQuery(collection))
    }
}

@Suite struct ImporterTests {
    private static let circle = """
        {"type":"avatar","key":"ned","author":"@ned"}
        {"type":"user","username":"ned","avatar":"@ned"}
        """

    @Test func `a user and an avatar that refer to each other are imported in any order`() throws {
        let testbed = try Testbed()
        let summary = try testbed.run(Self.circle)
        #expect(summary.created == 2)
        #expect(summary.broken == 0)
        let user = try #require(try testbed.store.records(matching: RecordQuery("user")).first)
        let avatar = try #require(try testbed.store.records(matching: RecordQuery("avatar")).first)
        #expect(user.values[1] == .reference(avatar.id))
        #expect(avatar.values[1] == .reference(user.id))
    }

    @Test func `a second import of the same rows writes nothing`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(Self.circle)
        let before = try testbed.store.outboxSummary()
        let summary = try testbed.run(Self.circle)
        #expect(summary.unchanged == 2)
        #expect(summary.created + summary.updated + summary.transactions == 0)
        #expect(try testbed.store.outboxSummary() == before)
    }

    @Test func `importing an export does not change JSON values with line breaks`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(#"{"type":"user","username":"n"}"#)
        let user = try #require(try testbed.store.records(matching: RecordQuery("user")).first)
        let id = "01890a5d-ac96-774b-bcce-b302099a8057"
        let json = "{\n\t\"a\": 1.10\r\n}"
        _ = try testbed.store.commit(
            [.create("profile", try #require(RecordID(id)), ["user": .reference(user.id), "address": .json(json)])],
            in: .default, now: WallTime(milliseconds: 1_700_000_000_000))
        let row = { (json: String) in #"{"type":"profile","id":"\#(id)","address":\#(json)}"# }
        #expect(try testbed.run(row("{  \"a\": 1.10  }")).unchanged == 1)
        #expect(try testbed.run(row("{  \"a\": 1.1  }")).updated == 1)
    }

    @Test func `importing a changed row updates its record`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(#"{"type":"user","key":"n","username":"Ned","age":1}"#)
        let summary = try testbed.run(#"{"type":"user","key":"n","username":"Ned","age":2}"#)
        #expect(summary.updated == 1)
        #expect(try testbed.count("user") == 1)
    }

    @Test func `equal keys of different sources are different records`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(#"{"type":"user","username":"root"}"#, source: "machine a")
        _ = try testbed.run(#"{"type":"user","username":"root"}"#, source: "machine b")
        #expect(try testbed.count("user") == 2)
    }

    @Test func `a strict import writes nothing if any row is invalid`() throws {
        let testbed = try Testbed()
        let text = Self.circle + "\n{\"type\":\"user\"}\n"
        let stopped = try testbed.run(text, strict: true)
        #expect(stopped.isStopped)
        #expect(stopped.broken == 1)
        #expect(try testbed.store.outboxSummary().count == 0)
        #expect(try testbed.run(text).created == 2)
    }

    @Test func `an unknown reference invalidates its row and the rows that refer to it`() throws {
        let testbed = try Testbed()
        let summary = try testbed.run(
            """
            {"type":"user","username":"a"}
            {"type":"avatar","key":"x","author":"@nobody"}
            {"type":"user","username":"b","avatar":"@x"}
            """)
        #expect(summary.problems.map(\.line) == [2, 3])
        #expect(summary.problems.first?.reason.contains("@nobody") == true)
        #expect(summary.problems.last?.reason.contains("user.avatar refers to a row that is not imported") == true)
        #expect(try testbed.count("avatar") == 0)
        #expect(try testbed.count("user") == 1)
    }

    @Test func `rows that refer to an invalid row indirectly are invalid too, in any order`() throws {
        let testbed = try Testbed()
        let summary = try testbed.run(
            """
            {"type":"avatar","key":"y","author":"@b"}
            {"type":"user","username":"b","avatar":"@x"}
            {"type":"avatar","key":"x","author":"@nobody"}
            {"type":"user","username":"c"}
            """)
        #expect(summary.problems.map(\.line) == [1, 2, 3])
        #expect(summary.created == 1)
    }

    @Test func `a row of a deleted record is reported, and the other rows are imported`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(#"{"type":"user","username":"a"}"#)
        let user = try #require(try testbed.store.records(matching: RecordQuery("user")).first)
        _ = try testbed.store.commit([.delete("user", user.id)], in: .default, now: WallTime(milliseconds: 1))
        let summary = try testbed.run(
            "{\"type\":\"user\",\"username\":\"a\"}\n{\"type\":\"user\",\"username\":\"b\"}\n")
        #expect(summary.problems.map(\.line) == [1])
        #expect(summary.problems.first?.reason.contains("deleted") == true)
        #expect(summary.created == 1)
        #expect(try testbed.count("user") == 1)
    }

    @Test(arguments: [false, true])
    func `a record that the server has deleted is not sent again, even after its entry is dismissed`(
        isDismissed: Bool
    ) throws {
        let testbed = try Testbed()
        _ = try testbed.run(#"{"type":"user","username":"a"}"#)
        try testbed.reject(Rejection(code: .recordDeleted, message: "deleted", mutation: 0))
        let entry = try #require(try testbed.store.journal(state: .active, limit: 1).first)
        if isDismissed { try testbed.store.dismiss(journal: entry.number) }
        let summary = try testbed.run(
            "{\"type\":\"user\",\"username\":\"a\"}\n{\"type\":\"user\",\"username\":\"b\"}\n")
        #expect(summary.problems.map(\.line) == [1])
        #expect(summary.problems.first?.reason.contains("deleted on the server") == true)
        #expect(summary.created == 1)
    }

    /// The server names the record by its id. The other rows must not wait for the row that it refuses.
    @Test func `a record that the server has in another space is reported, and the rows beside it are imported`() throws
    {
        let testbed = try Testbed()
        let rows = "{\"type\":\"user\",\"username\":\"a\"}\n{\"type\":\"user\",\"username\":\"b\"}\n"
        _ = try testbed.run(rows)
        try testbed.reject(Rejection(code: .duplicateRecord, message: "it exists", mutation: 1))
        let summary = try testbed.run(rows)
        #expect(summary.problems.map(\.line) == [2])
        #expect(summary.problems.first?.reason.contains("in another space") == true)
        #expect(summary.created == 1)
        // In the other space, the same row is the record that the server has.
        #expect(try testbed.run(rows, in: "elsewhere").problems.map(\.line) == [])
    }

    @Test func `values that replace long ones are written, in as many transactions as they need`() throws {
        let testbed = try Testbed()
        func rows(_ text: String) -> String {
            "{\"type\":\"user\",\"username\":\"ned\"}\n"
                + (0..<40).map { key in
                    "{\"type\":\"avatar\",\"key\":\"\(key)\",\"author\":\"@ned\",\"image_url\":\"\(text)\"}\n"
                }.joined()
        }
        #expect(try testbed.run(rows(String(repeating: "x", count: 60_000))).created == 41)
        let summary = try testbed.run(rows("short"))
        #expect(summary.updated == 40 && summary.broken == 0)
        #expect(summary.transactions > 2)
        let images = try testbed.store.records(matching: RecordQuery("avatar")).map(\.values[0])
        #expect(images == Array(repeating: .text("short"), count: 40))
    }

    /// One row of the chain depends on the next, to the last one, which is missing.
    @Test func `rows that depend on a missing row through a long chain are all reported`() throws {
        let testbed = try Testbed()
        let count = 20_000
        let rows = (0..<count).map { index in
            index.isMultiple(of: 2)
                ? "{\"type\":\"user\",\"key\":\"\(index)\",\"username\":\"u\",\"avatar\":\"@\(index + 1)\"}\n"
                : "{\"type\":\"avatar\",\"key\":\"\(index)\",\"author\":\"@\(index + 1)\"}\n"
        }
        let summary = try testbed.run(rows.joined())
        #expect(summary.broken == count && summary.created == 0)
        #expect(summary.problems.first?.reason == "user.avatar refers to a row that is not imported")
    }

    @Test func `a duplicate row is reported with the line of the first one`() throws {
        let testbed = try Testbed()
        let summary = try testbed.run(
            "{\"type\":\"user\",\"username\":\"a\"}\n{\"type\":\"user\",\"username\":\"a\"}\n")
        #expect(summary.created == 1)
        #expect(summary.problems.map(\.line) == [2])
        #expect(summary.problems.first?.reason.contains("line 1") == true)
    }

    @Test func `new records are created in the space of the import, and changes go to the space of their record`()
        throws
    {
        let testbed = try Testbed()
        #expect(try testbed.run(Self.circle, in: "team").created == 2)
        let text = """
            {"type":"user","key":"new","username":"new"}
            {"type":"user","key":"ned","username":"Eddard"}
            {"type":"user","key":"newer","username":"newer"}
            """
        let summary = try testbed.run(text)
        #expect(summary.problems == [])
        #expect(summary.created == 2 && summary.updated == 1)
        #expect(summary.transactions == 2)
        #expect(try testbed.store.outbox(limit: 9).map(\.transaction.space) == ["team", "default", "team"])
        #expect(try testbed.run(text, in: "other").unchanged == 3)
    }

    @Test func `a row names the space of its new record, unless the import does`() throws {
        let text = """
            {"type":"avatar","key":"ned","space":"team","author":"@ned"}
            {"type":"user","space":"team","username":"ned","avatar":"@ned"}
            {"type":"user","username":"here"}
            """
        let testbed = try Testbed()
        #expect(try testbed.run(text).created == 3)
        #expect(try testbed.store.outbox(limit: 9).map(\.transaction.space) == ["default", "team"])
        // Records stay in their space.
        #expect(try testbed.run(text, in: "other").unchanged == 3)
        let elsewhere = try Testbed()
        #expect(try elsewhere.run(text, in: "other").created == 3)
        #expect(try elsewhere.store.outbox(limit: 9).map(\.transaction.space) == ["other"])
    }

    @Test func `a row that leads to a row of another space is reported`() throws {
        let summary = try Testbed().run(
            """
            {"type":"user","username":"ned"}
            {"type":"avatar","key":"ned","space":"team","author":"@ned"}
            """)
        #expect(summary.problems.map(\.line) == [2])
        #expect(summary.problems.first?.reason.contains("in the space default") == true)
        #expect(summary.created == 1)
    }

    @Test func `a new record gets the defaults of the required fields that its row lacks`() throws {
        let testbed = try Testbed()
        #expect(try testbed.run(#"{"type":"user","username":"ned"}"#).created == 1)
        let ned = try #require(try testbed.store.records(matching: RecordQuery("user")).first)
        #expect(ned.values[3] == .boolean(true) && ned.values[4] == .null)
        let broken = try testbed.run(#"{"type":"user","username":"b","is_new":null}"#)
        #expect(broken.problems.first?.reason.contains("is_new") == true)
        // A later import of the row does not set the default again.
        _ = try testbed.store.commit(
            [.update("user", ned.id, ["is_new": .boolean(false)])], in: .default,
            now: WallTime(milliseconds: 1_700_000_000_000))
        #expect(try testbed.run(#"{"type":"user","username":"ned"}"#).unchanged == 1)
    }

    @Test func `a row that refers to a record of another space is reported with its line`() throws {
        let testbed = try Testbed()
        _ = try testbed.run(Self.circle, in: "team")
        let summary = try testbed.run(
            """
            {"type":"user","username":"before"}
            {"type":"avatar","key":"theirs","author":"@ned"}
            {"type":"avatar","key":"mine","author":"@before"}
            {"type":"user","key":"ned","username":"Ned","avatar":"@mine"}
            {"type":"user","username":"after"}
            """)
        #expect(summary.problems.map(\.line) == [2, 4])
        #expect(
            summary.problems.map(\.reason) == [
                "avatar.author refers to user @ned in the space team, but this avatar is in the space default; a record can only refer to records of its own space",
                "user.avatar refers to avatar @mine in the space default, but this user is in the space team; a record can only refer to records of its own space",
            ])
        #expect(summary.created == 3)
    }

    @Test(.ring(.test)) func `a large import is split into bounded transactions, and its references are kept`() throws {
        let testbed = try Testbed()
        // All avatars come before all users, although each avatar requires its user.
        let count = 700
        let avatars = (0..<count).map { #"{"type":"avatar","key":"\#($0)","author":"@\#($0)"}"# }
        let users = (0..<count).map { #"{"type":"user","key":"\#($0)","username":"u\#($0)","avatar":"@\#($0)"}"# }
        let summary = try testbed.run((avatars + users).joined(separator: "\n"))
        #expect(summary.created == 2 * count)
        #expect(summary.broken == 0)
        for entry in try testbed.store.outbox(limit: 100) {
            #expect(entry.transaction.mutations.count <= ImportLimits.mutationsPerTransaction)
        }
        let linked = try testbed.store.records(matching: RecordQuery("user")).filter { !$0.values[1].isNull }
        #expect(linked.count == count)
    }
}

@Suite struct RecordIdentityTests {
    @Test func `the id of a key is the same in every version`() {
        let id = RecordIdentity(source: "test").record("user", key: "ned")
        #expect(id.description == "e8b29ab9-a38f-87bf-b698-8f8ebb1239f0")
        #expect(id == RecordIdentity(source: "test").record("user", key: "ned"))
    }

    @Test func `the id depends on the source, the collection, and the key separately`() {
        let ids = [
            RecordIdentity(source: "a").record("user", key: "bc"),
            RecordIdentity(source: "ab").record("user", key: "c"),
            RecordIdentity(source: "a").record("avatar", key: "bc"),
            RecordIdentity(source: "").record("user", key: "abc"),
        ]
        #expect(Set(ids).count == ids.count)
    }

    @Test func `a record id from a key is a UUID of version 8`() {
        let text = Array(RecordIdentity(source: "test").record("user", key: "x").description)
        #expect(text[14] == "8")
        #expect("89ab".contains(text[19]))
    }
}

import Glibc
import LoopbackPage
import PageChecks
import SyncCore
import SyncJSON
import SyncModel
import TestRings
import Testing

@testable import syncctl

/// Tests the answers to the calls of the page, with a real store.
@Suite(.ring(.unit)) struct InspectorTests {
    private static func names(_ list: JSONValue) -> [String] {
        list["records"]?.array.compactMap { $0["name"]?.string } ?? []
    }

    @Test func `a list is read page by page, and each position leads to the next record`() async throws {
        try await InspectTestbed.run { testbed in
            for number in 1...7 { try await testbed.user("User \(number)") }
            for (sort, isDescending) in [
                ("uid", false), ("id", true), ("username", false), ("username", true), ("avatar", false),
            ] {
                var names: [String] = []
                var after = ""
                for _ in 1...4 {
                    let page = try await testbed.call(
                        .list,
                        #"{"collection":"user","sort":"\#(sort)","descending":\#(isDescending),"limit":3\#(after)}"#)
                    #expect(page["total"]?.integer == 7)
                    names += Self.names(page)
                    guard let next = page["next"] else { break }
                    after = #","after":\#(next.text)"#
                }
                #expect(names.sorted() == (1...7).map { "User \($0)" }, "\(sort)")
                if sort == "username" { #expect((names == names.sorted()) == !isDescending) }
            }
        }
    }

    @Test func `a search finds texts in any case, uids, and ids`() async throws {
        try await InspectTestbed.run { testbed in
            let ned = try await testbed.user("Ned Stark")
            for name in ["ARYA", "bran", "100%_sure"] { try await testbed.user(name) }
            func found(_ text: String) async throws -> [String] {
                Self.names(try await testbed.call(.list, #"{"collection":"user","search":"\#(text)"}"#)).sorted()
            }
            #expect(try await found("stark") == ["Ned Stark"])
            #expect(try await found("arya") == ["ARYA"])
            #expect(try await found("BRAN") == ["bran"])
            #expect(try await found("%_") == ["100%_sure"])
            #expect(try await found(ned) == ["Ned Stark"])
            #expect(try await found("' OR 1=1 --").isEmpty)
            #expect(try await found("-1").count == 4, "records that no server has seen have the uid -1")
            #expect(try await found("").count == 4)
            let long = String(repeating: "x", count: InspectLimits.searchBytes + 1)
            #expect(await testbed.refusal(.list, #"{"collection":"user","search":"\#(long)"}"#)?.status == 400)
        }
    }

    @Test func `a write has the checks and the sentences of the commands, and names each field at fault`() async throws
    {
        try await InspectTestbed.run { testbed in
            let ned = try await testbed.user("Ned")
            let empty = await testbed.refusal(
                .update, #"{"collection":"user","id":"\#(ned)","fields":{"username":""}}"#)
            #expect(empty?.status == 422 && empty?.message == "user.username is empty")
            #expect(empty?.fields == [.init(field: "username", message: "user.username is empty")])
            let absent = await testbed.refusal(.create, #"{"collection":"avatar","fields":{"image_url":"ftp://x"}}"#)
            #expect(absent?.fields.map(\.field) == ["image_url", "author"])
            #expect(absent?.fields.last?.message == "avatar.author is required and has no value")
            #expect(absent?.message == "2 fields have values that cannot be saved")
            let gone = await testbed.refusal(.create, #"{"collection":"avatar","fields":{"author":"Nobody"}}"#)
            #expect(gone?.message == "there is no record of user whose username is 'Nobody' on this device")
            let unknown = await testbed.refusal(.create, #"{"collection":"user","fields":{"usernam":"x"}}"#)
            #expect(unknown?.status == 400 && unknown?.advice == "did you mean username?")
            let wrong = await testbed.refusal(.create, #"{"collection":"usr","fields":{}}"#)
            #expect(wrong?.status == 400 && wrong?.advice == "did you mean user?")
            #expect(try testbed.store.outboxSummary().count == 1, "nothing of this was written")
        }
    }

    @Test func `a page over a file that was replaced says so`() async throws {
        try await InspectTestbed.run { testbed in
            _ = try await testbed.user("Ned")
            let file = testbed.file
            #expect(rename(file, file + ".old") == 0)
            let refusal = await testbed.refusal(.list, #"{"collection":"user"}"#)
            #expect(refusal?.status == 500 && refusal?.message.contains("was deleted or replaced") == true)
            #expect(rename(file + ".old", file) == 0)
            #expect(try await testbed.call(.list, #"{"collection":"user"}"#)["records"]?.array.count == 1)
        }
    }

    @Test func `a record is created, changed, and deleted, and its lists and the outbox show it`() async throws {
        try await InspectTestbed.run { testbed in
            let ned = try await testbed.user("Ned")
            let avatar = try await testbed.call(
                .create, #"{"collection":"avatar","fields":{"author":"Ned","image_url":"https://a.example/1"}}"#)
            let image = try #require(avatar["id"]?.string)
            let changed = try await testbed.call(
                .update, #"{"collection":"user","id":"\#(ned)","fields":{"username":"Eddard","avatar":"\#(image)"}}"#)
            #expect(changed["result"]?.string == "changed")
            let again = try await testbed.call(
                .update, #"{"collection":"user","id":"\#(ned)","fields":{"username":"Eddard"}}"#)
            #expect(again["result"]?.string == "unchanged")
            let stale = await testbed.refusal(
                .update,
                #"{"collection":"user","id":"\#(ned)","fields":{"username":"Rob"},"before":{"username":"Ned"}}"#)
            #expect(stale?.status == 409 && stale?.message == "a field has changed since the form was opened")
            #expect(
                stale?.fields == [
                    .init(
                        field: "username", message: "has changed since it was shown here; its value is now: Eddard")
                ])
            let seen = try await testbed.call(
                .update,
                #"{"collection":"user","id":"\#(ned)","fields":{"username":"Eddard"},"before":{"username":"Eddard"}}"#)
            #expect(seen["result"]?.string == "unchanged")
            let users = try await testbed.call(.list, #"{"collection":"user"}"#)["records"]?.array ?? []
            #expect(users.first?["image"]?.string == "https://a.example/1")
            #expect(users.first?["pending"] == .boolean(true))
            let avatars = try await testbed.call(.list, #"{"collection":"avatar"}"#)["records"]?.array ?? []
            let cells = avatars.first?["cells"]?.array ?? []
            #expect(
                cells.contains { $0["text"]?.string == "Eddard" && $0["id"]?.string == ned }, "a link to the author")
            let shown = try await testbed.call(.record, #"{"collection":"user","id":"\#(ned)"}"#)
            #expect(shown["space"]?.string == "default" && shown["isOnServer"] == .boolean(false))
            #expect(shown["fields"]?.array.first?["input"]?.string == "Eddard")

            let cleared = await testbed.refusal(
                .update, #"{"collection":"avatar","id":"\#(image)","fields":{"author":""}}"#)
            #expect(
                cleared?.fields == [.init(field: "author", message: "avatar.author is required and has no value")])
            let unseen = await testbed.refusal(
                .delete, #"{"collection":"user","id":"\#(ned)","before":{"username":"Eddard","avatar":""}}"#)
            #expect(unseen?.status == 409 && unseen?.message == "a field has changed since the record was shown")
            let refused = await testbed.refusal(
                .delete, #"{"collection":"user","id":"\#(ned)","before":{"username":"Eddard"}}"#)
            #expect(refused?.status == 422, "an avatar requires its author")
            for (collection, id) in [("avatar", image), ("user", ned)] {
                let deleted = try await testbed.call(.delete, #"{"collection":"\#(collection)","id":"\#(id)"}"#)
                #expect(deleted["result"]?.string == "deleted")
            }
            #expect(await testbed.refusal(.record, #"{"collection":"user","id":"\#(ned)"}"#)?.status == 404)
            #expect(await testbed.refusal(.delete, #"{"collection":"user","id":"\#(ned)"}"#)?.status == 422)
            let outbox = try await testbed.call(.outbox, #"{"limit":1}"#)
            #expect(outbox["entries"]?.array.count == 1)
        }
    }

    @Test func `a new record goes to the space of the form, else to that of the command`() async throws {
        try await InspectTestbed.run(space: "team") { testbed in
            for (given, expected) in [("", "team"), (#""space":"other","#, "other"), (#""space":"","#, "team")] {
                let made = try await testbed.call(
                    .create, #"{"collection":"user",\#(given)"fields":{"username":"\#(expected)"}}"#)
                let id = try #require(made["id"]?.string.flatMap { RecordID($0) })
                #expect(try testbed.store.space(of: "user", id)?.rawValue == expected)
            }
            let wrong = await testbed.refusal(
                .create, #"{"collection":"user","space":"Team 7","fields":{"username":"x"}}"#)
            #expect(wrong?.message == "'Team 7' is not the name of a space")
        }
    }

    @Test func `the journal shows a cancelled write, restores it, and dismisses it`() async throws {
        try await InspectTestbed.run { testbed in
            try await testbed.user("Ned")
            let entry = try #require(try testbed.store.outbox(limit: 1).first)
            try testbed.store.cancel(entry.sequence, now: WallTime(milliseconds: 0))
            let journal = try await testbed.call(.journal)["entries"]?.array ?? []
            let number = try #require(journal.first?["entry"]?.integer)
            #expect(journal.first?["what"]?.string == "cancelled: create user Ned")
            #expect(journal.first?["changes"]?.array.first?["username"]?.string == "Ned")
            #expect(try await testbed.call(.restore, #"{"entry":\#(number)}"#)["result"]?.string == "restored")
            let twice = await testbed.refusal(.restore, #"{"entry":\#(number)}"#)
            #expect(twice?.status == 422 && twice?.message.contains("\(number)") == true)
            #expect(try await testbed.call(.journal)["entries"]?.array.isEmpty == true)
            #expect(try await testbed.call(.journal, #"{"all":true}"#)["entries"]?.array.count == 1)
            #expect(try testbed.store.count(matching: RecordQuery("user")) == 1)

            let second = try #require(try testbed.store.outbox(limit: 1).first)
            try testbed.store.cancel(second.sequence, now: WallTime(milliseconds: 0))
            let open = try #require(try testbed.store.journal(state: .active, limit: 1).first)
            #expect(try await testbed.call(.dismiss, #"{"entry":\#(open.number)}"#)["result"]?.string == "dismissed")
            #expect(try testbed.store.outboxSummary().activeJournalEntries == 0)
            #expect(await testbed.refusal(.dismiss, #"{"entry":999}"#)?.status == 422)
        }
    }

    @Test func `the summary has the status of syncctl status, and the fields of each collection`() async throws {
        try await InspectTestbed.run { testbed in
            try await testbed.user("Ned")
            let summary = try await testbed.call(.summary)
            let status = try #require(summary["status"])
            #expect(status["state"]?.string == "no_server" && status["in_sync"] == .boolean(false))
            #expect(status["pending"]?.integer == 1 && status["waiting"]?.integer == 1)
            #expect(status["clock"]?.string == "not compared with a server's yet")
            let collections = summary["collections"]?.array ?? []
            #expect(collections.compactMap { $0["name"]?.string } == ["user", "avatar", "profile"])
            #expect(collections.first?["count"]?.integer == 1 && collections.first?["nameField"]?.string == "username")
            let avatar = collections.first?["fields"]?.array.last
            #expect(avatar?["type"]?.string == "reference" && avatar?["target"]?.string == "avatar")
        }
    }

    @Test func `the files of the page contain nothing inline, nothing remote, and no markup from data`() async throws {
        try await InspectTestbed.run { testbed in
            let files = InspectorPage(inspector: testbed.inspector).files
            #expect(files.map(\.path).sorted() == ["/", "/inspect.js", "/page.css", "/page.js"])
            #expect(PageFileChecks.problems(of: files) == [])
        }
    }
}

import LoopbackPage
import PageChecks
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncJSON
import SyncModel
import SyncProgram
import SyncSimulation
import SyncTestKit
import Testing

@testable import TomboloServer

/// Tests the answers to the calls of the page of a server's database.
@Suite struct ServerInspectorTests {
    private typealias World = InspectorWorld
    private let world: InspectorWorld

    init() throws {
        world = try InspectorWorld()
    }

    private func names(_ answer: JSONValue, _ key: String = "name") -> [String] {
        answer["records"]?.array.compactMap { $0[key]?.string } ?? []
    }

    // MARK: Lists

    @Test func `a list is read page by page, and each position leads to the next record`() async throws {
        var anna = World.Device(1, "anna")
        for number in UInt64(1)...7 { try world.push(&anna, World.create(number, ["name": .text("User \(number)")])) }
        try world.push(&anna, World.delete(4, seen: 4))
        try world.push(&anna, World.create(9, ["name": .text("Elsewhere")]), space: "other")
        var found: [String] = []
        var after = ""
        var pages = 0
        repeat {
            let page = try await world.call(
                .list, #"{"space":"default","collection":"user","limit":3\#(after)}"#)
            found += names(page)
            after = page["next"].map { #","after":\#($0.text)"# } ?? ""
            pages += 1
        } while !after.isEmpty
        #expect(found == [1, 2, 3, 5, 6, 7].map { "User \($0)" } && pages == 2)
        #expect(names(try await world.call(.list, #"{"space":"other","collection":"user"}"#)) == ["Elsewhere"])
        #expect(names(try await world.call(.list, #"{"space":"none","collection":"user"}"#)).isEmpty)
    }

    @Test func `a row has the values of the models' fields, and a reference the name of its target`() async throws {
        var anna = World.Device(1, "anna")
        let long = String(repeating: "é", count: InspectLimits.cellCharacters)
        try world.push(&anna, World.create(1, ["name": .text("Ned"), "bio": .text(long), "rank": .integer(7)]))
        try world.push(
            &anna, World.create(2, ["name": .text(""), "bio": .text(long + "x"), "boss": .reference(World.id(1))]),
            World.create(3, ["author": .reference(World.id(2))], in: "note"))
        let users = try await world.call(.list, #"{"space":"default","collection":"user"}"#)["records"]?.array ?? []
        #expect(users.map { $0["name"]?.string } == ["Ned", "#1"])
        #expect(users.first?["uid"]?.integer == 0 && users.first?["version"]?.integer == 1)
        let cells = users.map { $0["cells"]?.array ?? [] }
        #expect(
            cells.map { $0.map { $0["text"]?.string } } == [
                ["Ned", long, "7", nil, nil], ["", long + "…", nil, nil, "Ned"],
            ])
        #expect(cells.last?.last?["id"]?.string == World.id(1).description)
        let notes = try await world.call(.list, #"{"space":"default","collection":"note"}"#)["records"]?.array ?? []
        #expect(notes.first?["name"]?.string == "#0", "a collection without a field of type text")
        #expect(notes.first?["cells"]?.array.map { $0["text"]?.string } == [nil, "#1"])
    }

    @Test func `a search finds values in any case, references, uids, and ids, even of deleted records`() async throws {
        var anna = World.Device(1, "anna")
        try world.push(&anna, World.create(1, ["name": .text("Ned Stark"), "rank": .integer(12)]))
        try world.push(&anna, World.create(2, ["name": .text("ARYA"), "boss": .reference(World.id(1))]))
        try world.push(&anna, World.create(3, ["name": .text("100%_sure"), "data": .json(#"{"a":"Élan"}"#)]))
        try world.push(&anna, World.create(4, ["name": .text("gone")]))
        try world.push(&anna, World.delete(4, seen: 4))
        try world.push(&anna, World.create(5, ["name": .text("ned of another space")]), space: "other")
        func found(_ text: String) async throws -> [String] {
            names(try await world.call(.list, #"{"space":"default","collection":"user","search":"\#(text)"}"#))
        }
        #expect(try await found("nED") == ["Ned Stark"])
        #expect(try await found("arya") == ["ARYA"])
        #expect(try await found("%_") == ["100%_sure"])
        #expect(try await found("élan") == ["100%_sure"])
        #expect(try await found("12") == ["Ned Stark"])
        #expect(try await found("1") == ["ARYA", "100%_sure"], "the record with the uid comes first")
        #expect(try await found(World.id(1).description) == ["Ned Stark", "ARYA"])
        #expect(try await found("gone").isEmpty)
        #expect(try await found(World.id(4).description) == ["#3"])
        #expect(try await found("3") == ["#3"])
        #expect(try await found(World.id(5).description).isEmpty, "a record of another space")
        #expect(try await found("' OR 1=1 --").isEmpty)
        #expect(try await found("").count == 3)
        let first = try await world.call(
            .list, #"{"space":"default","collection":"user","search":"1","limit":1}"#)
        #expect(names(first) == ["ARYA", "100%_sure"])
        let long = String(repeating: "x", count: InspectLimits.searchBytes + 1)
        let refused = await world.refusal(.list, #"{"space":"default","collection":"user","search":"\#(long)"}"#)
        #expect(refused?.message == "the search text is longer than 512 bytes")
    }

    @Test func `a search looks at a bounded number of records in one call, and goes on where it ended`() async throws {
        var anna = World.Device(1, "anna")
        let count = UInt64(InspectLimits.searchedRows + 10)
        for start in stride(from: 1, through: count, by: 500) {
            let mutations = (start..<min(start + 500, count + 1)).map { number in
                World.create(number, ["name": .text(number.isMultiple(of: 1_000) ? "found \(number)" : "x")])
            }
            #expect(try world.push(&anna, mutations).word == "applied")
        }
        let search = #"{"space":"default","collection":"user","search":"FOUND"#
        let first = try await world.call(.list, search + #""}"#)
        #expect(names(first) == ["found 1000", "found 2000"])
        #expect(first["searched"]?.integer == Int64(InspectLimits.searchedRows))
        let rest = try await world.call(.list, search + #"","after":\#(try #require(first["next"]).text)}"#)
        #expect(names(rest).isEmpty && rest["searched"]?.integer == 10 && rest["next"] == nil)
        // A full page ends at its last record.
        let full = try await world.call(.list, search + #"","limit":1}"#)
        #expect(names(full) == ["found 1000"] && full["searched"]?.integer == 1_000)
        #expect(full["next"]?.string == World.id(1_000).description)
    }

    // MARK: One record

    @Test func `a record has its values with their versions and authors, and the records that refer to it`()
        async throws
    {
        var (anna, bo) = (World.Device(1, "anna"), World.Device(2, "bo"))
        try world.push(&anna, World.create(1, ["name": .text("Ned")]), after: 10)
        try world.push(&bo, World.update(1, "rank", .integer(5), seen: 1, at: 20), after: 20)
        try world.push(&bo, World.create(2, ["boss": .reference(World.id(1))]), after: 30)
        let record = try await world.call(.record, #"{"collection":"user","id":"\#(World.id(1))"}"#)
        #expect(record["space"]?.string == "default" && record["version"]?.integer == 2)
        #expect(record["creation"]?["account"]?.string == "anna" && record["creation"]?["version"]?.integer == 1)
        let fields = record["fields"]?.array ?? []
        #expect(fields.map { $0["name"]?.string } == ["name", "bio", "rank", "data", "boss"])
        #expect(fields.map { $0["text"]?.string } == ["Ned", nil, "5", nil, nil])
        #expect(fields.map { $0["version"]?.integer } == [1, 1, 2, 1, 1])
        #expect(fields.map { $0["account"]?.string } == ["anna", "anna", "bo", "anna", "anna"])
        #expect(fields[2]["at"]?.integer == World.start.milliseconds + 20)
        let referrers = record["referrers"]?.array ?? []
        #expect(referrers.map { $0["id"]?.string } == [World.id(2).description])
        #expect(referrers.first?["field"]?.string == "boss")
    }

    @Test func `a deleted record says so, and shows no value`() async throws {
        var (anna, bo) = (World.Device(1, "anna"), World.Device(2, "bo"))
        try world.push(&anna, World.create(1, ["name": .text("Ned")]))
        try world.push(&anna, World.create(2, ["boss": .reference(World.id(1))]))
        try world.push(&bo, World.delete(1, seen: 2))
        let record = try await world.call(.record, #"{"collection":"user","id":"\#(World.id(1))"}"#)
        #expect(record["deletion"]?["account"]?.string == "bo" && record["fields"] == nil)
        #expect(!record.text.contains("Ned"))
        let absent = await world.refusal(.record, #"{"collection":"user","id":"\#(World.id(9))"}"#)
        #expect(absent?.status == 404 && absent?.message.contains("on this server") == true)
    }

    // MARK: Commits and conflicts

    @Test func `commits come newest first with their authors, and one is opened with all its values`() async throws {
        var (anna, bo) = (World.Device(1, "anna"), World.Device(2, "bo"))
        try world.push(&anna, World.create(1, ["name": .text("Ned")]), after: 5)
        try world.push(&bo, World.update(1, "bio", .text("<b>"), seen: 1), World.create(2, [:]), after: 6)
        try world.push(
            &anna, World.delete(2, seen: 2), World.create(3, ["name": .text("a")]),
            World.create(4, ["name": .text("b")]), World.create(5, ["name": .text("c")]), after: 7)
        let page = try await world.call(.commits, #"{"space":"default","limit":5}"#)
        let entries = page["entries"]?.array ?? []
        #expect(entries.map { $0["version"]?.integer } == [3], "the changes of a page are bounded")
        #expect(entries.first?["what"]?.string == "delete user #1, create user a, create user b, and 1 more")
        #expect(entries.first?["account"]?.string == "anna" && entries.first?["count"]?.integer == 4)
        #expect(entries.first?["at"]?.integer == World.start.milliseconds + 7)
        let rest = try await world.call(.commits, #"{"space":"default","after":\#(try #require(page["next"]).text)}"#)
        #expect(rest["entries"]?.array.map { $0["version"]?.integer } == [2, 1] && rest["next"] == nil)
        #expect(
            rest["entries"]?.array.map { $0["what"]?.string } == [
                "change user Ned (bio), create user #1", "create user Ned",
            ])
        let commit = try await world.call(.commit, #"{"space":"default","version":2}"#)
        #expect(commit["account"]?.string == "bo" && commit["transaction"]?.integer == 0)
        #expect(
            commit["changes"]?.text
                == #"[{"intent":"update","type":"user","id":"\#(World.id(1))","bio":"<b>"},{"intent":"create","type":"user","id":"\#(World.id(2))"}]"#
        )
        try world.authority.trimFeed(of: .default, before: Version(3))
        let trimmed = await world.refusal(.commit, #"{"space":"default","version":2}"#)
        #expect(trimmed?.status == 404)
        #expect(await world.refusal(.commit, #"{"space":"default","version":\#(Int64.max)}"#)?.status == 404)
        let left = try await world.call(.commits, #"{"space":"default"}"#)
        #expect(left["entries"]?.array.count == 1 && left["next"] == nil && left["horizon"]?.integer == 2)
    }

    @Test func `conflicts have both values with their authors, page by page`() async throws {
        var (anna, bo) = (World.Device(1, "anna"), World.Device(2, "bo"))
        try world.push(&anna, World.create(1, ["name": .text("Ned")]))
        for number in Int64(1)...3 {
            try world.push(&anna, World.update(1, "bio", .text("anna \(number)"), seen: 2 * number - 1, at: number))
            let seen = 2 * number - 1
            let lost = try world.push(&bo, World.update(1, "bio", .text("bo \(number)"), seen: seen, at: number + 10))
            #expect(lost.word == "merged", "\(lost)")
        }
        let page = try await world.call(.conflicts, #"{"space":"default","limit":2}"#)
        let conflicts = page["records"]?.array ?? []
        #expect(conflicts.map { $0["kept"]?.string } == ["bo 1", "bo 2"])
        #expect(conflicts.map { $0["lost"]?.string } == ["anna 1", "anna 2"])
        #expect(conflicts.map { $0["number"]?.integer } == [1, 2])
        #expect(conflicts.map { $0["transaction"]?.integer } == [0, 1])
        #expect(conflicts.first?["keptBy"]?["account"]?.string == "bo")
        #expect(conflicts.first?["lostBy"]?["account"]?.string == "anna")
        #expect(conflicts.first?["name"]?.string == "Ned" && conflicts.first?["field"]?.string == "bio")
        let next = try #require(page["next"]).text
        let rest = try await world.call(.conflicts, #"{"space":"default","after":\#(next)}"#)
        #expect(rest["records"]?.array.map { $0["kept"]?.string } == ["bo 3"] && rest["next"] == nil)
    }

    @Test func `a page of conflicts ends when their values reach the limit of a call`() async throws {
        var (anna, bo) = (World.Device(1, "anna"), World.Device(2, "bo"))
        try world.push(&anna, World.create(1, ["name": .text("Ned")]))
        let text = String(repeating: "x", count: 60_000)
        for number in Int64(1)...20 {
            let seen = 2 * number - 1
            try world.push(&anna, World.update(1, "bio", .text("a\(text)"), seen: seen, at: number))
            try world.push(&bo, World.update(1, "bio", .text("b\(text)"), seen: seen, at: number + 30))
        }
        var (found, pages, after): ([Int64], Int, String) = ([], 0, "")
        repeat {
            let page = try await world.call(.conflicts, #"{"space":"default"\#(after)}"#)
            // The last conflict of a page may exceed the limit.
            #expect(page.text.utf8.count < InspectLimits.bytes + 200_000)
            found += (page["records"]?.array ?? []).compactMap { $0["number"]?.integer }
            after = page["next"].map { #","after":\#($0.text)"# } ?? ""
            pages += 1
        } while !after.isEmpty
        #expect(found == Array(1...20) && pages > 1)
    }

    // MARK: Spaces, members, clients

    @Test func `the summary counts what there is, and shows neither the key of the history nor a token`() async throws {
        var anna = World.Device(1, "anna")
        try world.push(&anna, World.create(1, ["name": .text("Ned")]))
        try world.push(&anna, World.create(2, [:]), space: "other")
        try world.faults.write { transaction in try transaction.set(.reader, of: Principal(name: "bo"), in: "team") }
        let summary = try await world.call(.summary)
        #expect(summary["history"]?.string == "e" && summary["spaces"]?.integer == 3)
        #expect(summary["clients"]?.integer == 1 && summary["conflicts"]?.integer == 0)
        #expect(summary["database"]?.text == #"{"name":"PostgreSQL, schema tombolo"}"#)
        #expect(summary["collections"]?.array.map { $0["nameField"] } == [.string("name"), .null])
        let space = summary["space"]
        #expect(space?["name"]?.string == "default" && space?["access"]?.string == "open")
        #expect(space?["records"]?.text == #"{"user":1,"note":0}"# && space?["head"]?.integer == 1)
        let team = try await world.call(.summary, #"{"space":"team"}"#)["space"]
        #expect(team?["access"]?.string == "members" && team?["records"]?.text == #"{"user":0,"note":0}"#)
        let key = try world.faults.read { view in try view.state().history.key }
        for call in ServerPageCall.allCases where call != .news {
            let hex = Hexadecimal.text(of: key.bytes)
            let body = (try? await world.call(call, #"{}"#))?.text ?? ""
            #expect(!body.lowercased().contains(hex), "\(call)")
        }
    }

    @Test func `records are counted again only when there may be others, and not more often than the interval`()
        async throws
    {
        var anna = World.Device(1, "anna")
        try world.push(&anna, World.create(1, [:]))
        func count() async throws -> Int64? {
            try await world.call(.summary)["space"]?["records"]?["user"]?.integer
        }
        #expect(try await count() == 1)
        try world.push(&anna, World.create(2, [:]))
        #expect(try await count() == 1)
        try world.simulation.advance(by: InspectLimits.countInterval)
        #expect(try await count() == 2)
    }

    /// Regression test: after the last commit, a page kept showing the numbers from before it.
    @Test func `the time of the next count is news, if the last one is old`() async throws {
        var anna = World.Device(1, "anna")
        try world.push(&anna, World.create(1, [:]))
        _ = try await world.call(.summary)
        try world.push(&anna, World.create(2, [:]))
        let old = try await world.call(.summary)
        #expect(old["space"]?["records"]?["user"]?.integer == 1)
        let number = try #require(old["news"]?.integer)
        #expect(try await world.inspector.newsNumber() == number)
        try world.simulation.advance(by: InspectLimits.newsInterval)
        #expect(try await world.inspector.newsNumber() == number)
        try world.simulation.advance(by: InspectLimits.countInterval)
        #expect(try await world.inspector.newsNumber() == number + 1)
        let news = try await world.call(.news, #"{"since":\#(number)}"#)
        #expect(news["spaces"]?.array.isEmpty == true && news["everything"] == .boolean(false))
        #expect(try await world.call(.summary)["space"]?["records"]?["user"]?.integer == 2)
        try world.simulation.advance(by: InspectLimits.countInterval)
        #expect(try await world.inspector.newsNumber() == number + 1)
    }

    @Test func `a count that takes long is repeated seldom`() async throws {
        var anna = World.Device(1, "anna")
        try world.push(&anna, World.create(1, [:]))
        // Each count takes a second by this clock, and each use of its result another one.
        let uptime = Guarded(Duration.zero)
        var runtime = world.simulation.makeRuntime(device: "slow")
        runtime.actorExecutor = nil
        runtime.uptime = {
            uptime.withLock { now in
                now += .seconds(1)
                return now
            }
        }
        let inspector = World.inspector(world.authority, runtime)
        func count() async throws -> Int64? {
            let summary = try JSONValue(try await inspector.answer(.summary, PageArguments(Array("{}".utf8))).bytes)
            return summary["space"]?["records"]?["user"]?.integer
        }
        #expect(try await count() == 1)
        try world.push(&anna, World.create(2, [:]))
        for _ in 1..<InspectLimits.countPause { #expect(try await count() == 1) }
        #expect(try await count() == 2)
    }

    @Test func `spaces, members, and clients are listed page by page`() async throws {
        for number in UInt64(1)...3 {
            var device = World.Device(number, "a\(number)")
            try world.push(&device, World.create(number, [:]), space: try #require(SpaceID(rawValue: "s\(number)")))
        }
        try world.faults.write { transaction in
            for name in ["ned", "arya", "rob"] { try transaction.set(.writer, of: Principal(name: name), in: "team") }
        }
        for (call, arguments, key, expected) in [
            (ServerPageCall.spaces, "", "name", ["s1", "s2", "s3", "team"]),
            (.spaces, #""search":"ea","#, "name", ["team"]),
            (.members, #""space":"team","#, "account", ["arya", "ned", "rob"]),
            (.members, #""space":"s1","#, "account", []),
            (.clients, "", "account", ["a1", "a2", "a3"]),
        ] {
            var found: [String] = []
            var after = ""
            repeat {
                let page = try await world.call(call, #"{\#(arguments)"limit":2\#(after)}"#)
                #expect(page["total"]?.integer == Int64(expected.count), "\(call)")
                found += names(page, key)
                after = page["next"].map { #","after":\#($0.text)"# } ?? ""
            } while !after.isEmpty
            #expect(found == expected, "\(call)")
        }
        let client = try await world.call(.clients)["records"]?.array.first
        #expect(client?["last"]?.integer == 0 && client?["outcome"]?.string == "applied")
        #expect(client?["at"]?.integer == World.start.milliseconds)
    }

    // MARK: Requests and failures

    @Test func `arguments that are missing, unknown, or of another kind are refused`() async throws {
        for call in ServerPageCall.allCases {
            #expect(await world.refusal(call, #"{"unknown":1}"#)?.status == 400, "\(call)")
        }
        for (call, json) in [
            (ServerPageCall.list, #"{"collection":"user"}"#), (.list, #"{"space":"Team 7","collection":"user"}"#),
            (.list, #"{"space":"default","collection":"usr"}"#),
            (.list, #"{"space":"default","collection":"user","after":7}"#),
            (.record, #"{"collection":"user","id":"7"}"#), (.commits, #"{"space":"default","after":"x"}"#),
            (.commit, #"{"space":"default"}"#), (.conflicts, "{}"), (.members, "{}"), (.clients, #"{"after":"x"}"#),
            (.news, "{}"), (.spaces, #"{"after":"X"}"#), (.summary, #"{"space":7}"#),
        ] { #expect(await world.refusal(call, json)?.status == 400, "\(call) \(json)") }
    }

    @Test func `a failure of the store is told with its message`() async throws {
        world.faults.arm(after: 0)
        let failed = await world.refusal(.list, #"{"space":"default","collection":"user"}"#)
        #expect(failed?.message.isEmpty == false && (500...503).contains(failed?.status ?? 0), "\(failed as Any)")
        #expect(try await world.call(.list, #"{"space":"default","collection":"user"}"#)["records"] != nil)
    }

    @Test func `the files of the page contain nothing inline, nothing remote, and no markup from data`() {
        #expect(world.page.files.map(\.path).sorted() == ["/", "/page.css", "/page.js", "/server.js"])
        #expect(PageFileChecks.problems(of: world.page.files) == [])
    }
}

import Foundation
import TestRings
import Testing

/// Tests `syncctl record` with the database of an application whose models are not built into `syncctl`.
@Suite(.ring(.test)) struct RecordProgramTests {
    private let programs: Programs
    private let store: [String]

    init() throws {
        programs = try Programs()
        let catalog = programs.folder + "/todo.json"
        let text = #"""
            {"format": 1, "models": [{"collection": "todo", "fields": [
                {"name": "title", "type": "text", "required": true, "minimumBytes": 1, "rule": "name"},
                {"name": "stars", "type": "integer"}, {"name": "done", "type": "boolean"},
                {"name": "weight", "type": "real"}, {"name": "labels", "type": "json"}, {"name": "type", "type": "text"},
                {"name": "parent", "type": "reference", "target": "todo"},
                {"name": "due", "type": "integer", "format": "date-time"}]}]}
            """#
        try text.write(toFile: catalog, atomically: true, encoding: .utf8)
        store = ["--store", programs.folder + "/todo"]
        #expect(try programs.run("syncctl", ["init", "--catalog", catalog] + store).status == 0)
    }

    private func record(_ arguments: String...) throws -> Programs.CommandResult {
        try programs.run("syncctl", ["record"] + arguments + store)
    }

    private func lines(_ response: Programs.CommandResult) throws -> [[String: Any]] {
        try response.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    @Test func `record collections lists the database's own collections and fields`() throws {
        let response = try record("collections")
        #expect(response.status == 0)
        #expect(
            ["parent", "reference to todo", "due  ", "date"].allSatisfy(response.output.contains), "\(response.output)")
        #expect(!response.output.contains("username"))
    }

    @Test func `records are created, changed, listed, and deleted with the types of their fields`() throws {
        let made = try lines(
            try record(
                "create", "todo", "title=Milk", "stars=3", "done=true", "weight=1.5", #"labels=["a"]"#, "--json"))
        let id = try #require(made.first?["id"] as? String)
        #expect(made.first?["stars"] as? Int == 3)
        #expect(made.first?["done"] as? Bool == true)
        #expect(made.first?["weight"] as? Double == 1.5)
        #expect(try record("create", "todo", "title=Butter", "parent=\(id)").status == 0)
        #expect(try record("set", "todo", id, "stars=4", "done=").status == 0)
        let shown = try #require(try lines(try record("show", "todo", id, "--json")).first)
        #expect(shown["stars"] as? Int == 4)
        #expect(shown["done"] is NSNull)
        let found = try lines(try record("list", "todo", "--where", "title=Butter", "--json"))
        #expect(found.map { $0["parent"] as? String } == [id])
        // Swift joins a leading combining mark to the `=` before it, into one `Character`.
        #expect(try record("set", "todo", id, "type=\u{301}e").status == 0)
        #expect(try lines(try record("list", "todo", "--where", "type=\u{301}e", "--json")).count == 1)
        #expect(try record("delete", "todo", id).output == "deleted todo \(id)\n")
        #expect(try lines(try record("list", "todo", "--json")).count == 1)
    }

    @Test func `dates are written and shown as dates, and stay numbers in JSON`() throws {
        let made = try lines(try record("create", "todo", "title=Milk", "due=2026-12-01T10:00:00+02:00", "--json"))
        #expect(made.first?["due"] as? Int64 == 1_796_112_000_000_000)
        #expect(try record("list", "todo").output.contains(" 2026-12-01T08:00:00Z "))
        #expect(try record("list", "todo", "--where", "due=2026-12-01T08:00Z").output.contains("Milk"))
        let refused = try record("create", "todo", "title=Tea", "due=2026-02-30")
        let words =
            "todo.due: '2026-02-30' is not a valid date; expected a date in ISO 8601, such as 2026-12-01 or 2026-12-01T10:00:00Z"
        #expect(refused.status == 1 && refused.errors.contains(words), "\(refused.errors)")
        let rows =
            #"{"type":"todo","key":"1","title":"A","due":"2027-01-01"}"# + "\n"
            + #"{"type":"todo","key":"2","title":"B","due":"soon"}"# + "\n"
        let file = programs.folder + "/rows.jsonl"
        try rows.write(toFile: file, atomically: true, encoding: .utf8)
        let imported = try programs.run("syncctl", ["import", file] + store)
        #expect(
            imported.status == 3 && imported.errors.contains(#"rows.jsonl:2: todo.due: "soon" is not a valid date"#))
        #expect(try record("list", "todo").output.contains(" 2027-01-01T00:00:00Z "))
    }

    @Test func `a field with the name of a key of every record has a key of its own`() throws {
        let made = try record("create", "todo", "title=Milk", "type=food", "--json").output
        #expect(made.contains(#"{"type":"todo""#) && made.contains(#""field.type":"food""#), "\(made)")
        #expect(made.ranges(of: #""type":"#).count == 1, "\(made)")
        let found = try record("list", "todo", "--where", "type=food", "--json").output
        #expect(found.contains(#""field.type":"food""#), "\(found)")
    }

    @Test(arguments: [
        (["list", "tood"], "this database has no collection 'tood'", "did you mean todo?"),
        (["list", "user"], "this database has no collection 'user'", "the collections are todo"),
        (["create", "todo", "titel=x"], "todo has no field 'titel'", "did you mean title?"),
        (
            ["create", "todo", "title=x", "stars=many"],
            "todo.stars: 'many' is not a valid integer; expected a whole number from -9223372036854775808 to 9223372036854775807, such as 42",
            ""
        ),
        (
            ["create", "todo", "title=x", "stars=2026-01-01"],
            "todo.stars: '2026-01-01' is not a valid integer; expected a whole number. A date is the number of microseconds since 1970 in UTC, such as 1767225600000000 for 2026-01-01, unless its model declares a date",
            ""
        ),
        (
            ["create", "todo", "title=x", "done=yes"],
            "todo.done: 'yes' is not a valid boolean; expected true or false", ""
        ),
        (
            ["create", "todo", "title=x", "weight=1,5"],
            "todo.weight: '1,5' is not a valid real; expected a number, such as 1.5 or -2e3", ""
        ),
        (
            ["create", "todo", "title=x", "labels={bad"],
            "todo.labels: '{bad' is not valid JSON (byte 1: expected a key in double quotes, found 'b'); expected JSON, such as {\"a\": 1}, [1, 2], or \"text\"",
            ""
        ),
        (
            [
                "create", "todo", "title=x",
                "labels=" + String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
            ],
            "todo.labels is JSON nested too deeply: at most 32 levels are allowed", ""
        ),
        (["create", "todo", "title= x"], "todo.title begins or ends with a space", ""),
        (["create", "todo", "stars=1"], "todo.title", ""),
        (["show", "todo", "7"], "there is no record of todo", "syncctl record list todo"),
    ])
    func `an error about an unknown name suggests the nearest one, and an invalid value names its field`(
        arguments: [String], words: String, advice: String
    )
        throws
    {
        let response = try programs.run("syncctl", ["record"] + arguments + store)
        #expect(response.status != 0)
        #expect(
            response.errors.contains(words) && (advice.isEmpty || response.errors.contains(advice)),
            "\(response.errors)")
    }

    @Test func `one long value does not make the lines of other records long`() throws {
        #expect(try record("create", "todo", "title=\(String(repeating: "x", count: 500))").status == 0)
        #expect(try record("create", "todo", "title=Milk").status == 0)
        let lines = try record("list", "todo", "--sort", "id").output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].contains(String(repeating: "x", count: 500)), "nothing is cut without a terminal")
        #expect(lines[0].count < 200 && lines[2].count < 200, "\(lines.map(\.count))")
    }

    @Test func `the commands of one collection are those of any, and keep their own names`() throws {
        #expect(try programs.syncctl("init").status == 0)
        #expect(try programs.syncctl("user", "create", "username=Ned").status == 0)
        let one = try programs.syncctl("user", "list", "--json")
        #expect(try programs.syncctl("record", "list", "user", "--json").output == one.output)
        let wrong = try programs.run("syncctl", ["user", "list"] + store)
        #expect(wrong.errors.contains("this database has no collection 'user'"), "\(wrong.errors)")
    }

    @Test func `a device of any application syncs its records with a server of these models`() throws {
        let catalog = programs.folder + "/todo.json"
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let url = try programs.serve("--catalog", catalog).url
        #expect(try record("create", "todo", "title=Milk").status == 0)
        let server = ["--server", url, "--token-file", token, "--environment", "development"]
        let sync = try programs.run("syncctl", ["sync"] + server + store)
        #expect(sync.status == 0, "\(sync.errors)")
        let other = ["--store", programs.folder + "/other"]
        #expect(try programs.run("syncctl", ["init", "--catalog", catalog] + other).status == 0)
        #expect(try programs.run("syncctl", ["sync"] + server + other).status == 0)
        let list = try programs.run("syncctl", ["record", "list", "todo", "--json"] + other)
        #expect(try lines(list).map { $0["title"] as? String } == ["Milk"])
    }

    private func imported(_ arguments: String..., input: String) throws -> Programs.CommandResult {
        try programs.run("syncctl", ["import"] + arguments + store, input: input)
    }

    @Test func `rows of the database's own collections are imported, and again without a change`() throws {
        let rows = #"""
            {"type": "todo", "key": "milk", "title": "Milk", "stars": 3, "parent": "@food", "field.type": "errand"}
            {"type": "todo", "key": "food", "title": "Food", "labels": {"a": [1]}, "weight": 1}
            {"type": "todo", "key": "bad", "titel": "Bad"}
            {"type": "user", "key": "ned", "username": "Ned"}
            """#
        let first = try imported("--jsonl", "-", input: rows)
        #expect(first.status == 3)
        #expect(first.output.contains("2 created"), "\(first)")
        #expect(first.errors.contains("todo has no field 'titel'"), "\(first)")
        #expect(first.errors.contains("there is no collection 'user'; expected one of todo"), "\(first)")
        let again = try imported("--jsonl", "-", input: rows)
        #expect(again.output.contains("0 created, 0 changed, 2 unchanged"), "\(again)")
        let todos = try lines(try record("list", "todo", "--json"))
        let milk = try #require(todos.first { $0["title"] as? String == "Milk" })
        let food = try #require(todos.first { $0["title"] as? String == "Food" })
        #expect(milk["parent"] as? String == food["id"] as? String)
        #expect(milk["field.type"] as? String == "errand")
        #expect(milk["stars"] as? Int == 3)
    }

    @Test func `the output of record list can be imported into another database of the same models`() throws {
        #expect(
            try record("create", "todo", "title=Milk", "stars=3", "done=true", "weight=1.5", "type=errand").status == 0)
        let text = try record("list", "todo", "--json").output
        let other = ["--store", programs.folder + "/other"]
        let made = try programs.run("syncctl", ["init", "--catalog", programs.folder + "/todo.json"] + other)
        #expect(made.status == 0)
        let result = try programs.run("syncctl", ["import", "--jsonl", "-"] + other, input: text)
        #expect(result.status == 0, "\(result)")
        let digest = try programs.run("syncctl", ["digest", "--json"] + store).output
        #expect(try programs.run("syncctl", ["digest", "--json"] + other).output == digest)
    }

    @Test func `CSV needs the collection of its rows, and accounts need the models of users`() throws {
        let rows = "key,title,stars,parent\nmilk,Milk,3,@food\nfood,Food,,\n"
        let wrong = try imported("--csv", "-", input: rows)
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("this database has no collection 'user'"), "\(wrong)")
        let result = try imported("--csv", "--type", "todo", "-", input: rows)
        #expect(result.status == 0 && result.output.contains("2 created"), "\(result)")
        let accounts = try imported("--passwd", "-", input: "ned:x:1:1:Ned:/home/ned:/bin/sh\n")
        #expect(accounts.status == 64)
        #expect(accounts.errors.contains("this database has no collection user"), "\(accounts)")
    }
}

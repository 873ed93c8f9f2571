import Foundation
import TestRings
import Testing

@testable import syncctl

/// Tests `syncd` and `syncctl` with an application's own models, which a catalog file contains.
@Suite(.ring(.test)) struct CatalogProgramTests {
    private let programs: Programs

    init() throws {
        programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
    }

    /// Writes a catalog of the collection `todo` with these fields, and returns its path.
    private func catalog(_ name: String, fields: String...) throws -> String {
        let path = "\(programs.folder)/\(name).json"
        let list = fields.joined(separator: ", ")
        let text = #"{"format": 1, "models": [{"collection": "todo", "fields": [\#(list)]}]}"#
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private let title = #"{"name": "title", "type": "text", "required": true}"#

    private func serveOnce(_ file: String) throws {
        let server = try programs.serve("--catalog", file).process
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationStatus == 0)
    }

    @Test func `an additive change of the models applies by itself`() throws {
        let first = try catalog("first", fields: title)
        #expect(
            try programs.run("syncd", ["catalog", "check", first]).output
                == "no models are stored yet, so any models fit\n", "before the first start")
        try serveOnce(first)
        let second = try catalog("second", fields: title, #"{"name": "due", "type": "integer"}"#)
        let check = try programs.run("syncd", ["catalog", "check", second])
        #expect(check.status == 0)
        #expect(check.output == "adds todo.due\nthe models fit the stored ones\n")
        try serveOnce(second)
        #expect(try programs.run("syncd", ["catalog", "check", second]).output == "the models fit the stored ones\n")
    }

    @Test func `a server does not start with models that do not fit the stored ones, and names them`() throws {
        try serveOnce(try catalog("first", fields: title, #"{"name": "due", "type": "integer"}"#))
        let other = try catalog("other", fields: title, #"{"name": "due", "type": "text"}"#)
        let words = """
            syncd: the models do not fit the stored ones: todo.due is stored as integer, but is text in the catalog
              todo.due: add a field with another name for the new type

            """
        for arguments in [["--port", "0", "--catalog", other], ["catalog", "check", other]] {
            let response = try programs.run("syncd", arguments)
            #expect(response.errors == words)
            #expect(response.status == 78)
        }
        let stock = try programs.run("syncd", ["--port", "0"])
        #expect(stock.errors.contains("todo is stored, but is not in the catalog"), "\(stock.errors)")
    }

    @Test func `a new record has the defaults of its model`() throws {
        let file = try catalog(
            "defaults", fields: title, #"{"name": "list", "type": "text", "required": true, "default": "home"}"#,
            #"{"name": "due", "type": "integer", "default": 3}"#)
        #expect(try programs.syncctl("init", "--catalog", file).status == 0)
        #expect(try programs.syncctl("record", "create", "todo", "title=Milk").status == 0)
        #expect(try programs.syncctl("record", "create", "todo", "title=Bread", "due=").status == 0)
        let list = try programs.syncctl("record", "list", "todo", "--json").output
        for line in list.split(separator: "\n") {
            #expect(line.contains(#""list":"home""#))
            #expect(line.contains(#""due":3"#) != line.contains("Bread"), "\(line)")
        }
        #expect(list.split(separator: "\n").count == 2)
    }

    @Test func `all conflicts are listed in one error, and their remedies in one line`() throws {
        try serveOnce(try catalog("first", fields: title, #"{"name": "due", "type": "integer"}"#))
        let other = try catalog("other", fields: #"{"name": "title", "type": "json", "required": true}"#)
        let response = try programs.run("syncd", ["catalog", "check", other])
        #expect(
            response.errors == """
                syncd: the models do not fit the stored ones: todo.title is stored as text, but is json in the catalog; todo.due is stored, but is not in the catalog
                  todo.title: add a field with another name for the new type; todo.due: keep the field in the catalog; the application does not have to use it

                """)
        #expect(response.status == 78)
        let changed = try catalog(
            "changed", fields: title, #"{"name": "due", "type": "integer", "default": 3}"#)
        #expect(
            try programs.run("syncd", ["catalog", "check", changed]).output
                == "changes todo.due has the default 3\nthe models fit the stored ones\n")
    }

    @Test(.ring(.check), .timeLimit(.minutes(10)))
    func `a sync beside another one ends when only writes for a newer server are left, and waits when it is upgraded`()
        throws
    {
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "arya", "--output", token]).status == 0)
        let (server, url) = try programs.serve("--catalog", try catalog("older", fields: title))
        defer { if server.isRunning { kill(server.processIdentifier, SIGKILL) } }
        let newer = try catalog("newer", fields: title, #"{"name": "due", "type": "integer"}"#)
        #expect(try programs.syncctl("init", "--catalog", newer).status == 0)
        #expect(try programs.syncctl("record", "create", "todo", "title=Milk", "due=3").status == 0)
        let there = ["--server", url, "--token-file", token]
        let elsewhere = ["--server", "http://127.0.0.1:1", "--token-file", token]
        let failed = try programs.run("syncctl", ["sync", "--wait", "100ms"] + elsewhere)
        #expect(failed.status == CommandExitStatus.notSynced.rawValue, "\(failed)")
        #expect(
            try programs.syncctl("status", "--local", "--json").output.contains(#""last_error_code":"unreachable""#))
        let (watch, lines, _) = try programs.start("syncctl", ["sync", "--watch", "--json"] + there)
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        _ = try Programs.text(of: lines, upTo: #""held":1"#)
        let beside = try programs.run("syncctl", ["sync", "--json"] + there)
        #expect(beside.status == CommandExitStatus.held.rawValue, "\(beside)")
        #expect(beside.output.contains(#""result":"held""#), "\(beside)")
        #expect(try programs.syncctl("status", "--local", "--json").output.contains(#""last_error":null"#))

        // The server is upgraded. The watch sends what has waited, and the sync beside it waits for that.
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        let port = try #require(url.split(separator: ":").last.map(String.init))
        _ = try programs.serve("--port", port, "--catalog", newer)
        let after = try programs.run("syncctl", ["sync", "--wait", "5m", "--json"] + there)
        #expect(after.status == 0, "\(after)")
        #expect(after.output.contains(#""outbox":0,"held":0"#), "\(after)")
    }

    @Test func `the stored models of a folder are printed, or the reason why they cannot be`() throws {
        let file = try catalog("first", fields: title)
        try serveOnce(file)
        let folder = ["--folder", programs.folder + "/.local/share/syncd"]
        let stored = try programs.run("syncd", ["catalog", "show"] + folder)
        #expect(stored.output == (try programs.run("syncd", ["catalog", "show", "--catalog", file]).output))
        #expect(stored.output.contains("todo"))
        let other = try programs.run("syncd", ["catalog", "show", "--folder", programs.folder + "/none"])
        #expect(other.status == 78 && other.errors.contains("no models are stored in"), "\(other)")
        let server = try programs.serve("--catalog", file).process
        let served = try programs.run("syncd", ["catalog", "show"] + folder)
        #expect(served.status == 1 && served.errors.contains("is being served by another process"), "\(served)")
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
    }

    @Test func `the models of a server are printed as a file that serves them`() throws {
        let shown = try programs.run("syncd", ["catalog", "show"])
        let path = "\(programs.folder)/community.json"
        try shown.output.write(toFile: path, atomically: true, encoding: .utf8)
        try serveOnce(path)
        #expect(try programs.run("syncd", ["catalog", "show", "--catalog", path]).output == shown.output)
        #expect(try programs.run("syncd", ["catalog", "check", path]).output == "the models fit the stored ones\n")
    }

    @Test func `a file that is no catalog is named, with the place`() throws {
        let file = try catalog("bad", fields: #"{"name": "title", "typ": "text"}"#)
        let response = try programs.run("syncd", ["--port", "0", "--catalog", file])
        #expect(response.errors.contains("bad.json is not a valid catalog"), "\(response.errors)")
        #expect(response.errors.contains("models[0].fields[0]: unknown key"), "\(response.errors)")
        #expect(response.errors.contains("did you mean type?"), "\(response.errors)")
        let missing = try programs.run("syncd", ["--port", "0", "--catalog", "/none.json"])
        #expect(missing.errors == "syncd: the catalog /none.json was not read: there is no such file\n")
    }

    private static func longFields(_ count: Int) -> String {
        (0..<count).map { #"{"name": "f\#($0)", "type": "text", "maximumBytes": 523776}"# }.joined(separator: ", ")
    }

    @Test func `models that no device could store are refused by all commands, with the place`() throws {
        let cases = [
            (#"{"collection": "sync_meta", "fields": []}"#, "a collection may not be called sync_meta"),
            (
                #"{"collection": "todo", "fields": []}, {"collection": "todo_shown", "fields": []}"#,
                "a collection may not be called todo_shown"
            ),
            (
                #"{"collection": "a", "fields": [{"name": "x", "type": "json", "default": "{bad"}]}"#,
                "x: the default is not JSON"
            ),
            (
                #"{"collection": "doc", "fields": [\#(Self.longFields(9))]}"#,
                "models[0]: the maximum lengths of the text and JSON fields of doc add up to 4713984 bytes; at most 4194304 are allowed"
            ),
        ]
        for (models, words) in cases {
            let path = "\(programs.folder)/refused.json"
            try #"{"format": 1, "models": [\#(models)]}"#.write(toFile: path, atomically: true, encoding: .utf8)
            for (program, arguments) in [
                ("syncd", ["--port", "0", "--catalog", path]), ("syncd", ["catalog", "check", path]),
                ("syncctl", ["init", "--catalog", path]),
            ] {
                let response = try programs.run(program, arguments)
                #expect(
                    response.status != 0 && response.errors.contains("refused.json is not a valid catalog"),
                    "\(response)")
                #expect(response.errors.contains(words), "\(response)")
            }
        }
    }

    /// Two devices, `a` and `b`, with todos that refer to one another, and their server.
    private struct LinkedTodos {
        let programs: Programs
        let url: String
        let token: String

        func device(_ name: String, _ arguments: String...) throws -> Programs.CommandResult {
            try programs.run(
                "syncctl",
                arguments + ["--store", "\(programs.folder)/\(name)", "--server", url, "--token-file", token])
        }

        /// Creates a todo on the device `a`, and returns its id.
        func create(_ fields: String...) throws -> String {
            let created = try programs.run(
                "syncctl", ["record", "create", "todo"] + fields + ["--store", "\(programs.folder)/a"])
            return try #require(created.output.split(whereSeparator: \.isWhitespace).last.map(String.init))
        }
    }

    private func linkedTodos() throws -> LinkedTodos {
        let file = try catalog("linked", fields: title, #"{"name": "next", "type": "reference", "target": "todo"}"#)
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "arya", "--output", token]).status == 0)
        let todos = LinkedTodos(programs: programs, url: try programs.serve("--catalog", file).url, token: token)
        for name in ["a", "b"] { #expect(try todos.device(name, "init", "--catalog", file).status == 0) }
        return todos
    }

    @Test(.ring(.check), .timeLimit(.minutes(5)))
    func `a record that is restored before the record it refers to gets the reference later`() throws {
        let todos = try linkedTodos()
        let first = try todos.create("title=first")
        let second = try todos.create("title=second", "next=\(first)")
        for name in ["a", "b"] { #expect(try todos.device(name, "sync").status == 0) }
        #expect(try todos.device("b", "record", "delete", "todo", second, first).status == 0)
        #expect(try todos.device("b", "sync").status == 0)
        #expect(try todos.device("a", "record", "set", "todo", first, "title=mine").status == 0)
        #expect(try todos.device("a", "record", "set", "todo", second, "title=mine too").status == 0)
        _ = try todos.device("a", "sync")
        for entry in ["2", "1"] {
            let restored = try todos.device("a", "journal", "restore", entry)
            #expect(restored.status == 0, "\(restored)")
        }
        #expect(try todos.device("a", "sync").status == 0)
        #expect(try todos.device("b", "sync").status == 0)
        let records = try todos.device("b", "record", "list", "todo", "--json").output.split(separator: "\n")
        #expect(records.count == 2)
        #expect(records.contains { $0.contains("mine too") && !$0.contains(#""next":null"#) }, "\(records)")
    }

    @Test(.ring(.check), .timeLimit(.minutes(5)))
    func `a restore names the references that it leaves out, and a later one sets them`() throws {
        let todos = try linkedTodos()
        let here = try todos.create("title=here")
        for name in ["a", "b"] { #expect(try todos.device(name, "sync").status == 0) }
        let next = try todos.create("title=next")
        #expect(try todos.device("a", "record", "set", "todo", here, "next=\(next)", "title=mine").status == 0)
        // This cancels the edit, too. Then another device deletes its record.
        #expect(try todos.device("a", "outbox", "cancel", "2").status == 0)
        #expect(try todos.device("b", "record", "delete", "todo", here).status == 0)
        for name in ["b", "a"] { #expect(try todos.device(name, "sync").status == 0) }
        let first = try todos.device("a", "journal", "restore", "2")
        #expect(first.status == 0)
        #expect(first.errors.contains("is here without its next, because todo \(next) is not here"), "\(first)")
        #expect(try todos.device("a", "record", "list", "todo", "--json").output.contains(#""next":null"#))
        let second = try todos.device("a", "journal", "restore", "1")
        #expect(second.status == 0 && second.errors.isEmpty, "\(second)")
        #expect(try todos.device("a", "record", "list", "todo", "--json").output.contains(#""next":"\#(next)""#))
    }

    @Test func `closed standard streams do not receive the database, and lost output is reported`() throws {
        let path = try catalog("first", fields: title)
        for stream in ["<&-", ">&-", "2>&-"] {
            let closed = ["sh", "-c", "exec \"$0\" \"$@\" \(stream)"]
            let folder = "\(programs.folder)/closed-\(stream.count)\(stream.first ?? " ")"
            let response = try programs.run(
                "syncctl", ["init", "--catalog", path, "--store", folder], launcher: closed)
            #expect((response.status == 0) == (stream != ">&-"), "\(stream): \(response)")
            let check = try programs.run("syncctl", ["doctor", "--local", "--store", folder])
            #expect(check.status == 0, "\(stream): \(check)")
        }
        let file = programs.folder + "/none.jsonl"
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        _ = try programs.syncctl("init")
        let response = try programs.run(
            "syncctl", ["import", file], launcher: ["sh", "-c", "exec \"$0\" \"$@\" >&-"])
        #expect(response.errors == "syncctl: the output cannot be written: Bad file descriptor\n", "\(response)")
    }
}

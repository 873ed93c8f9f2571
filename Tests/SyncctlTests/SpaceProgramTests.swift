import Foundation
import TestRings
import Testing

@testable import syncctl

/// `syncctl space`, alone and beside a sync that runs.
@Suite(.ring(.test)) struct SpaceProgramTests {
    private let programs: Programs

    init() throws {
        programs = try Programs()
        #expect(try programs.syncctl("init").status == 0)
    }

    @Test func `spaces are followed, listed, and unfollowed`() throws {
        #expect(try programs.syncctl("space", "follow", "team").output.hasPrefix("following team; syncctl sync"))
        #expect(try programs.syncctl("space", "follow", "team").output == "this device follows team already\n")
        let list = try programs.syncctl("space", "--json").output
        #expect(
            list == """
                {"space":"default","version":0,"complete":false,"access":true}
                {"space":"team","version":0,"complete":false,"access":true}

                """)
        #expect(try programs.syncctl("status", "--local").output.contains("team at version 0"))
        #expect(
            try programs.syncctl("space", "unfollow", "team").output
                == "unfollowed team: removed 0 records from this device\n")
        #expect(try programs.syncctl("space", "unfollow", "team").output == "this device does not follow team\n")
        #expect(
            try programs.syncctl("space", "unfollow", "team", "--json").output
                == #"{"space":"team","result":"unchanged"}"# + "\n")
        #expect(try programs.syncctl("space").output.split(separator: "\n").count == 2)
    }

    @Test func `what cannot be unfollowed or is no name is explained`() throws {
        let always = try programs.syncctl("space", "unfollow", "default")
        #expect(always.status == CommandStatus.failed.rawValue)
        #expect(always.errors.contains("every device follows the space default"), "\(always)")
        for command in ["follow", "unfollow"] {
            let wrong = try programs.syncctl("space", command, "Team 7")
            #expect(wrong.status == CommandStatus.usage.rawValue)
            #expect(wrong.errors.contains("'Team 7' is not the name of a space"), "\(wrong)")
            #expect(wrong.errors.contains("such as team_7"), "\(wrong)")
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a running sync takes over the spaces that another process changes`() throws {
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file", token]
        let (watch, lines, _) = try programs.start("syncctl", ["sync", "--watch", "--json"] + there)
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        _ = try Programs.text(of: lines, upTo: "\"in_sync\":true")
        #expect(try programs.syncctl("space", "follow", "team").status == 0)
        // The server has no such space for this account.
        _ = try Programs.text(of: lines, upTo: #""space":"team","version":0,"head":0,"complete":false,"access":false"#)
        #expect(try programs.syncctl("space", "list").output.contains("no access"))
        #expect(try programs.syncctl("space", "unfollow", "team").status == 0)
        let after = try Programs.text(of: lines, upTo: "\n")
        #expect(!(after.split(separator: "\n").last?.contains("team") ?? true), "\(after)")
        kill(watch.processIdentifier, SIGTERM)
        watch.waitUntilExit()

        #expect(try programs.syncctl("space", "follow", "team").status == 0)
        let refused = try programs.run("syncctl", ["sync"] + there)
        #expect(refused.status == CommandStatus.refused.rawValue, "\(refused)")
        #expect(refused.errors.contains("syncctl space unfollow"), "\(refused)")
        #expect(try programs.syncctl("space", "unfollow", "team").status == 0)
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a rejected change is shown beside the server's row`() throws {
        func catalog(_ name: String, maximum: Int) throws -> String {
            let path = "\(programs.folder)/\(name).json"
            let text =
                #"{"format": 1, "models": [{"collection": "todo", "fields": [{"name": "title", "type": "text", "maximumBytes": \#(maximum)}]}]}"#
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (_, url) = try programs.serve("--catalog", try catalog("strict", maximum: 5))
        let there = ["--store", programs.folder + "/todo", "--server", url, "--token-file", token]
        func todo(_ words: String...) throws -> Programs.Answer { try programs.run("syncctl", words + there) }
        #expect(try todo("init", "--catalog", try catalog("lax", maximum: 50)).status == 0)
        let made = try todo("record", "create", "todo", "title=Milk").output
        let id = try #require(made.split(whereSeparator: \.isWhitespace).last.map(String.init))
        #expect(try todo("sync").status == 0)
        #expect(try todo("record", "set", "todo", id, "title=Cucumbers").status == 0)
        #expect(try todo("sync").status == CommandStatus.rejected.rawValue)
        let shown = try todo("journal", "show", "1")
        #expect(shown.output.contains("title: 'Cucumbers'; the server has 'Milk'"), "\(shown)")
        let line = try todo("journal", "show", "1", "--json").output
        #expect(line.contains(#""server":[{"type":"todo","id":"\#(id)","title":"Milk"}]"#), "\(line)")
    }
}

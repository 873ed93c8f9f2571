import Foundation
import TestRings
import Testing

@testable import syncctl

/// Tests `syncctl space`, alone and while another process syncs.
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

    @Test func `unfollowing the default space, or an invalid name, is refused with a reason`() throws {
        let always = try programs.syncctl("space", "unfollow", "default")
        #expect(always.status == CommandExitStatus.failed.rawValue)
        #expect(always.errors.contains("every device follows the space default"), "\(always)")
        for command in ["follow", "unfollow"] {
            let wrong = try programs.syncctl("space", command, "Team 7")
            #expect(wrong.status == CommandExitStatus.usage.rawValue)
            #expect(wrong.errors.contains("'Team 7' is not the name of a space"), "\(wrong)")
            #expect(wrong.errors.contains("such as team_7"), "\(wrong)")
        }
    }

    /// Returns the space of each transaction in the outbox.
    private func outbox() throws -> [String] {
        try programs.syncctl("outbox", "list", "--json").output.split(separator: "\n").map { line in
            let space = try #require(line.firstMatch(of: #/"space":"([a-z]+)"/#))
            return String(space.1)
        }
    }

    @Test func `records are created in a named space, and changed and deleted in their own`() throws {
        #expect(try programs.syncctl("user", "create", "--space", "team", "username=Ned").status == 0)
        #expect(try programs.syncctl("user", "create", "username=Arya").status == 0)
        #expect(try programs.syncctl("user", "show", "Ned").output.contains("space     team\n"))
        // Without `--space`, a record is created in the space of the record that it refers to.
        let avatar = try programs.syncctl("avatar", "create", "author=Ned", "image_url=https://a.example/1")
        #expect(avatar.status == 0, "\(avatar)")
        let made = try programs.syncctl("record", "create", "user", "--space", "team", "username=Bran")
        #expect(made.status == 0, "\(made)")
        for (words, answer) in [
            (["user", "set", "Ned", "username=Eddard"], "changed user Eddard"),
            (["record", "set", "user", "username=Bran", "username=Brandon"], "changed user Brandon"),
            (["user", "delete", "Brandon"], "deleted user"),
        ] {
            let response = try programs.run("syncctl", words)
            #expect(response.status == 0 && response.output.hasPrefix(answer), "\(words): \(response)")
        }
        #expect(try outbox() == ["team", "default", "team", "team", "team", "team", "team"])
        for (space, names) in [("team", ["Eddard"]), ("default", ["Arya"])] {
            let list = try programs.syncctl("user", "list", "--space", space, "--json").output
            #expect(list.split(separator: "\n").count == 1 && names.allSatisfy(list.contains), "\(list)")
        }
        #expect(try programs.syncctl("record", "list", "user", "--space", "away").errors == "no users in away\n")
        #expect(
            try programs.syncctl("user", "list", "--space", "Team 7").status == CommandExitStatus.usage.rawValue)
        #expect(try programs.syncctl("space").output.contains("team"))
    }

    @Test func `an edit across spaces is refused, and the error names both`() throws {
        #expect(try programs.syncctl("user", "create", "--space", "team", "username=Ned").status == 0)
        #expect(try programs.syncctl("user", "create", "username=Arya").status == 0)
        #expect(try programs.syncctl("avatar", "create", "author=Ned", "image_url=https://a.example/1").status == 0)
        let id = try #require(
            try programs.syncctl("avatar", "list", "--json").output.firstMatch(of: #/"id":"([^"]+)"/#).map { "\($0.1)" }
        )
        let before = try outbox()
        for (words, problem) in [
            (
                ["avatar", "create", "--space", "default", "author=Ned", "image_url=https://a.example/2"],
                "avatar.author: user Ned is in the space team, and this avatar in the space default"
            ),
            (
                ["user", "set", "Arya", "avatar=\(id)"],
                "user.avatar: avatar \(id) is in the space team, and this user in the space default"
            ),
            (
                ["user", "delete", "Arya", "Ned"],
                "the records are in the spaces default, team; expected records of one space"
            ),
        ] {
            let response = try programs.run("syncctl", words)
            #expect(response.status == CommandExitStatus.failed.rawValue, "\(words): \(response)")
            #expect(response.errors.contains(problem), "\(words): \(response)")
        }
        for words in [["user", "create", "--space", "Team 7", "username=x"], ["import", "--space", "Team 7"]] {
            let wrong = try programs.run("syncctl", words)
            #expect(wrong.status == CommandExitStatus.usage.rawValue, "\(wrong)")
            #expect(wrong.errors.contains("'Team 7' is not the name of a space"), "\(wrong)")
        }
        #expect(try outbox() == before)
    }

    @Test func `an import writes each row in the space of its record`() throws {
        let file = programs.folder + "/people.csv"
        try "key,username\nned,Ned\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try programs.syncctl("import", file, "--space", "team").status == 0)
        let rows = "key,username\narya,Arya\nned,Eddard\n"
        try rows.write(toFile: file, atomically: true, encoding: .utf8)
        let mixed = try programs.syncctl("import", file)
        #expect(mixed.status == 0, "\(mixed)")
        #expect(mixed.output.contains("1 created, 1 changed, 0 unchanged"), "\(mixed)")
        #expect(try outbox() == ["team", "default", "team"])
        let avatars = programs.folder + "/avatars.jsonl"
        try #"{"type":"avatar","key":"a","author":"@ned","image_url":"https://a.example/1"}"#
            .write(toFile: avatars, atomically: true, encoding: .utf8)
        let crossing = try programs.syncctl("import", avatars)
        #expect(crossing.status == CommandExitStatus.partly.rawValue, "\(crossing)")
        #expect(crossing.errors.contains("avatars.jsonl:1: avatar.author refers to user @ned in the space team"))
        #expect(try programs.syncctl("import", avatars, "--space", "team").status == 0)
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
        // The account has no access to this space.
        _ = try Programs.text(of: lines, upTo: #""space":"team","version":0,"head":0,"complete":false,"access":false"#)
        #expect(try programs.syncctl("space", "list").output.contains("no access"))
        #expect(try programs.syncctl("space", "unfollow", "team").status == 0)
        let after = try Programs.text(of: lines, upTo: "\n")
        #expect(!(after.split(separator: "\n").last?.contains("team") ?? true), "\(after)")
        kill(watch.processIdentifier, SIGTERM)
        watch.waitUntilExit()

        #expect(try programs.syncctl("space", "follow", "team").status == 0)
        let refused = try programs.run("syncctl", ["sync"] + there)
        #expect(refused.status == CommandExitStatus.refused.rawValue, "\(refused)")
        #expect(refused.errors.contains("syncctl space unfollow"), "\(refused)")
        #expect(try programs.syncctl("space", "unfollow", "team").status == 0)
        #expect(try programs.run("syncctl", ["sync"] + there).status == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a sync beside another process does not claim to be in sync without access`()
        throws
    {
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let there = ["--server", try programs.serve().url, "--token-file", token]
        #expect(try programs.syncctl("space", "follow", "team").status == 0)
        let (watch, lines, _) = try programs.start("syncctl", ["sync", "--watch", "--json"] + there)
        defer { if watch.isRunning { kill(watch.processIdentifier, SIGKILL) } }
        _ = try Programs.text(of: lines, upTo: "\"access\":false")
        let beside = try programs.run("syncctl", ["sync"] + there)
        #expect(beside.status == CommandExitStatus.refused.rawValue, "\(beside)")
        #expect(
            beside.output == """
                synced as far as the server allows: process \(watch.processIdentifier) has sent and downloaded \
                everything else

                """)
        #expect(beside.errors.contains("the account may not read team"), "\(beside)")
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
        func todo(_ words: String...) throws -> Programs.CommandResult { try programs.run("syncctl", words + there) }
        #expect(try todo("init", "--catalog", try catalog("lax", maximum: 50)).status == 0)
        let made = try todo("record", "create", "todo", "title=Milk").output
        let id = try #require(made.split(whereSeparator: \.isWhitespace).last.map(String.init))
        #expect(try todo("sync").status == 0)
        #expect(try todo("record", "set", "todo", id, "title=Cucumbers").status == 0)
        #expect(try todo("sync").status == CommandExitStatus.rejected.rawValue)
        let shown = try todo("journal", "show", "1")
        #expect(shown.output.contains("title: 'Cucumbers'; the server has 'Milk'"), "\(shown)")
        let line = try todo("journal", "show", "1", "--json").output
        #expect(line.contains(#""server":[{"type":"todo","id":"\#(id)","title":"Milk"}]"#), "\(line)")
    }
}

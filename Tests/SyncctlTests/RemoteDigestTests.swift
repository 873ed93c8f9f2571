import SyncConcurrency
import TestRings
import Testing

@testable import syncctl

/// Tests that `digest --remote` refuses the same responses as a sync, and covers each followed space.
@Suite(.ring(.check)) struct RemoteDigestTests {
    private static func hello(account: String = "ann", epoch: String = "e1") -> String {
        #"{"protocol":{"from":1,"to":1},"epoch":"\#(epoch)","account":"\#(account)","serverTime":"1763728464000.3","limits":{"pushBytes":4194304,"pushTransactions":256,"pageRows":1000}}"#
    }

    private static func page(
        space: String = "default", epoch: String = "e1", head: String = "0", isFirst: Bool = true
    ) -> String {
        #"{"page":{"space":"\#(space)","epoch":"\#(epoch)","serverTime":"1763728464000.3","cursor":"c0","version":0,"head":\#(head),"hasMore":false,"snapshot":{"isFirst":\#(isFirst),"isLast":true,"collections":[]}}}"#
    }

    /// Runs a command with a server that answers with these bodies.
    private static func run(
        _ programs: Programs, _ words: [String], hello: String = hello(), page: String = page()
    ) throws -> Programs.CommandResult {
        let server = try ScriptedServer { request in
            let body = request.path.hasSuffix("/hello") ? hello : request.path.hasSuffix("/pull") ? page : ""
            return body.isEmpty ? "" : ScriptedServer.json("200 OK", body, isNamed: true)
        }
        return try programs.run(
            "syncctl", words + ["--store", programs.folder + "/store", "--server", server.url],
            variables: ["SYNCCTL_SERVER_TOKEN": "a-token"], launcher: ["timeout", "60"])
    }

    private static func programs() throws -> Programs {
        let programs = try Programs()
        #expect(try programs.run("syncctl", ["init", "--store", programs.folder + "/store"]).status == 0)
        return programs
    }

    @Test func `a digest with another account's token is refused like a sync`() throws {
        let programs = try Self.programs()
        let first = try Self.run(programs, ["sync", "--wait", "10s"])
        #expect(first.status == 0, "\(first.errors)")
        #expect(try Self.run(programs, ["digest", "--remote"]).status == 0)
        for words in [["digest", "--remote"], ["sync", "--wait", "2s"]] {
            let response = try Self.run(programs, words, hello: Self.hello(account: "bob"))
            #expect(response.status == CommandExitStatus.refused.rawValue, "\(words)")
            #expect(response.output.isEmpty || words[0] == "sync", "\(response.output)")
            #expect(
                response.errors.contains("the token belongs to 'bob', but this database belongs to 'ann'"),
                "\(response.errors)")
        }
    }

    /// Returns the snapshot of a space with one user.
    private static func page(of space: String, user name: String, id: Int) -> String {
        #"{"page":{"space":"\#(space)","epoch":"e1","serverTime":"1763728464000.3","cursor":"c1","version":1,"head":1,"hasMore":false,"snapshot":{"isFirst":true,"isLast":true,"collections":[{"collection":"user","columns":["username"],"rows":[["01935a1b-2c3d-7000-8000-00000000000\#(id)",\#(id),1,null,"\#(name)"]]}]}}}"#
    }

    /// Runs a command with a server that has one user in each of the spaces default and team.
    ///
    /// - Parameter name: the name of the user in the space team; nil if the account may not read that space.
    private static func run(_ programs: Programs, _ words: [String], team name: String?) throws
        -> Programs.CommandResult
    {
        let server = try ScriptedServer { request in
            let body: String
            switch (request.path.hasSuffix("/hello"), request.text("space")) {
            case (true, _): body = hello()
            case (false, "default"): body = page(of: "default", user: "Ned", id: 1)
            case (false, "team"):
                body = name.map { page(of: "team", user: $0, id: 2) } ?? #"{"noAccess":{"epoch":"e1"}}"#
            case (false, _): return ""
            }
            return ScriptedServer.json("200 OK", body, isNamed: true)
        }
        return try programs.run(
            "syncctl", words + ["--store", programs.folder + "/store", "--server", server.url],
            variables: ["SYNCCTL_SERVER_TOKEN": "a-token"], launcher: ["timeout", "60"])
    }

    @Test func `digests cover each space that the device follows, by name`() throws {
        let programs = try Self.programs()
        #expect(try programs.syncctl("space", "follow", "team", "--store", programs.folder + "/store").status == 0)
        let sync = try Self.run(programs, ["sync", "--wait", "10s"], team: "Arya")
        #expect(sync.status == 0, "\(sync)")
        let here = try Self.run(programs, ["digest", "--json"], team: "Arya")
        let lines = here.output.split(separator: "\n")
        #expect(lines.count == 6, "\(here)")
        for space in ["default", "team"] {
            #expect(lines.contains { $0.hasPrefix(#"{"space":"\#(space)","type":"user","records":1,"#) }, "\(here)")
        }
        #expect(try Self.run(programs, ["digest", "--json", "--remote"], team: "Arya").output == here.output)
        let other = try Self.run(programs, ["digest", "--json", "--remote"], team: "Sansa")
        #expect(other.status == 0)
        let changed = zip(lines, other.output.split(separator: "\n")).filter { $0 != $1 }.map(\.0)
        #expect(changed.count == 1 && changed[0].hasPrefix(#"{"space":"team","type":"user""#), "\(other)")
        let table = try Self.run(programs, ["digest", "--remote"], team: "Arya")
        #expect(table.output.hasPrefix("SPACE ") && table.output.contains("team     user"), "\(table)")
    }

    /// Runs `digest --remote` with a server that answers the first pull with 429 and this pause.
    private static func run(pause: Int, _ words: [String] = []) throws -> Programs.CommandResult {
        let pulls = Guarded(0)
        let server = try ScriptedServer { request in
            if request.path.hasSuffix("/hello") { return ScriptedServer.json("200 OK", hello(), isNamed: true) }
            let isFirst = pulls.withLock { number in
                number += 1
                return number == 1
            }
            guard isFirst else { return ScriptedServer.json("200 OK", page(), isNamed: true) }
            return ScriptedServer.json(
                "429 Too Many Requests",
                #"{"error":{"code":"throttled","message":"too many requests","request":"REQUEST"}}"#, pause: pause)
        }
        let programs = try programs()
        return try programs.run(
            "syncctl", ["digest", "--remote", "--store", programs.folder + "/store", "--server", server.url] + words,
            variables: ["SYNCCTL_SERVER_TOKEN": "a-token"], launcher: ["timeout", "60"])
    }

    @Test func `a digest goes on after a pause that the server asks for`() throws {
        let digest = try Self.run(pause: 1)
        #expect(digest.status == 0, "\(digest)")
        #expect(digest.output.contains("default"))
    }

    @Test(arguments: [(61, []), (11, ["--wait", "10s"])] as [(Int, [String])])
    func `a digest does not start a pause that is longer than its time`(pause: Int, words: [String]) throws {
        let digest = try Self.run(pause: pause, words)
        #expect(digest.status == CommandExitStatus.notSynced.rawValue, "\(digest)")
        #expect(digest.errors.contains("too many requests"), "\(digest)")
        #expect(
            digest.errors.contains("run syncctl sync again in \(pause == 61 ? "1 min 1 s" : "11.0 s"); "), "\(digest)")
    }

    @Test func `a digest names the space that the account may not read`() throws {
        let programs = try Self.programs()
        #expect(try programs.syncctl("space", "follow", "team", "--store", programs.folder + "/store").status == 0)
        let response = try Self.run(programs, ["digest", "--remote"], team: nil)
        #expect(response.status == CommandExitStatus.refused.rawValue, "\(response)")
        #expect(response.errors.contains("the account may not read the space team"), "\(response)")
        #expect(response.errors.contains("syncctl space unfollow team"), "\(response)")
        #expect(response.output.isEmpty)
    }

    @Test(
        arguments: [
            (page(space: "other"), "answered with a page of space other"),
            (page(epoch: "e2"), "sent records of a different history than that in its hello"),
            (page(isFirst: false), "sent the continuation of a snapshot, although its start was requested"),
            (page(head: "7"), "restarted the snapshot, although its continuation was requested"),
            (page(head: "9223372036854775807"), "the version is 9223372036854775807; expected 0 to 9007199254740991"),
        ])
    func `a digest refuses a page that contradicts its request`(page: String, reason: String) throws {
        let response = try Self.run(Self.programs(), ["digest", "--remote"], page: page)
        #expect(response.status == CommandExitStatus.notSynced.rawValue)
        #expect(response.output.isEmpty)
        #expect(response.errors.contains(reason), "\(response.errors)")
    }
}

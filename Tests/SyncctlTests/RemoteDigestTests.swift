import TestRings
import Testing

@testable import syncctl

/// Tests which servers `digest --remote` believes: the same ones as a sync.
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
    ) throws -> Programs.Answer {
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
            #expect(response.status == CommandStatus.refused.rawValue, "\(words)")
            #expect(response.output.isEmpty || words[0] == "sync", "\(response.output)")
            #expect(
                response.errors.contains("the token belongs to 'bob', but this database belongs to 'ann'"),
                "\(response.errors)")
        }
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
        #expect(response.status == CommandStatus.notSynced.rawValue)
        #expect(response.output.isEmpty)
        #expect(response.errors.contains(reason), "\(response.errors)")
    }
}

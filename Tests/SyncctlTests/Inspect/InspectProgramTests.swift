import Foundation
import PageChecks
import SyncJSON
import TestRings
import Testing

@testable import syncctl

/// Tests `syncctl inspect` as a program, beside other commands on the same database.
@Suite(.ring(.test), .serialized) final class InspectProgramTests {
    private let programs: Programs

    init() throws {
        programs = try Programs()
        #expect(try programs.syncctl("init").status == 0)
    }

    private func start(_ arguments: String...) throws -> RunningPage {
        try RunningPage("syncctl", arguments, programs)
    }

    @Test(.timeLimit(.minutes(5))) func `the page and the commands see each other's writes`() async throws {
        let running = try start()
        defer { running.kill() }
        let made = try await running.call("create", #"{"collection":"user","fields":{"username":"Ned"}}"#)
        #expect(made["result"]?.string == "created", "\(made)")
        #expect(try programs.syncctl("user", "show", "Ned").status == 0)

        var since = try await running.call("summary", "{}")["news"]?.integer ?? 0
        #expect(try programs.syncctl("user", "create", "username=Arya").status == 0)
        // The news may come in parts.
        var names: [String] = []
        while !names.contains("Arya") {
            let news = try await running.call("news", #"{"since":\#(since)}"#)
            since = try #require(news["news"]?.integer, "\(news)")
            let list = try await running.call("list", #"{"collection":"user"}"#)
            names = list["records"]?.array.compactMap { $0["name"]?.string } ?? []
        }
        #expect(running.end(SIGINT) == 0)
    }

    @Test(.timeLimit(.minutes(5))) func `a second page has another secret, and a taken port is an error`() async throws
    {
        let first = try start()
        defer { first.kill() }
        let taken = try programs.syncctl("inspect", "--port", "\(first.port)")
        #expect(taken.status == CommandExitStatus.failed.rawValue)
        #expect(
            taken.errors == """
                syncctl: another program uses the port \(first.port) of 127.0.0.1
                  choose another with --port, or leave it out for a free one

                """)
        let second = try start("--space", "team")
        defer { second.kill() }
        #expect(first.secret != second.secret)
        let stranger = RunningPage(process: first.process, port: first.port, secret: second.secret)
        let refused = try await stranger.call("list", #"{"collection":"user"}"#)
        #expect(refused["error"]?.string?.contains("secret") == true, "\(refused)")
        _ = try await second.call("create", #"{"collection":"user","fields":{"username":"Ned"}}"#)
        #expect(try programs.syncctl("user", "show", "Ned").output.contains("space     team\n"))
        #expect(first.end(SIGTERM) == 0 && second.end(SIGINT) == 0)
    }

    @Test func `without a database, and with an invalid port or space, nothing is served`() throws {
        let missing = try programs.syncctl("inspect", "--store", programs.folder + "/none")
        #expect(missing.status == CommandExitStatus.noStore.rawValue && missing.output.isEmpty)
        #expect(missing.errors.contains("create it with syncctl init"), "\(missing)")
        for words in [["--port", "65536"], ["--port", "-1"], ["--space", "Team 7"]] {
            let wrong = try programs.run("syncctl", ["inspect"] + words)
            #expect(wrong.status == CommandExitStatus.usage.rawValue && wrong.output.isEmpty, "\(wrong)")
        }
    }
}

import Foundation
import Glibc
import PageChecks
import SyncJSON
import TestRings
import Testing

@testable import syncctl

/// Tests `syncd inspect` as a program, beside a running server and without one.
@Suite(.ring(.test), .serialized) final class ServerInspectProgramTests {
    private let programs: Programs
    private var url = ""
    private var folder: String { programs.folder + "/.local/share/syncd" }

    init() throws {
        programs = try Programs()
    }

    private func start(_ arguments: String...) throws -> RunningPage {
        try RunningPage("syncd", arguments, programs)
    }

    /// Starts a server, and keeps its address for the device.
    private func serve() throws -> Process {
        let (server, url) = try programs.serve()
        self.url = url
        return server
    }

    private func stop(_ server: Process) {
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationStatus == 0)
    }

    private func sync() throws {
        let done = try programs.syncctl("sync", "--server", url, "--token-file", programs.folder + "/token")
        #expect(done.status == 0, "\(done)")
    }

    @Test(.timeLimit(.minutes(5))) func `the page follows a server that starts, commits, stops, and starts again`()
        async throws
    {
        let token = programs.folder + "/token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        #expect(try programs.syncctl("init").status == 0)
        let first = try serve()
        let page = try start()
        defer { page.kill() }
        var summary = try await page.call("summary")
        #expect(summary["database"]?["isServed"] == .boolean(true) && summary["spaces"]?.integer == 0, "\(summary)")
        let since = try #require(summary["news"]).text
        #expect(try programs.syncctl("user", "create", "username=Ned <b>").status == 0)
        try sync()
        let news = try await page.call("news", #"{"since":\#(since)}"#)
        #expect(news["spaces"]?.array.compactMap(\.string) == ["default"], "\(news)")
        let list = try await page.call("list", #"{"space":"default","collection":"user","search":"NED"}"#)
        #expect(list["records"]?.array.first?["name"]?.string == "Ned <b>", "\(list)")
        let commits = try await page.call("commits", #"{"space":"default"}"#)
        #expect(commits["entries"]?.array.first?["account"]?.string == "ned", "\(commits)")
        let clients = try await page.call("clients")
        #expect(clients["records"]?.array.first?["outcome"]?.string == "applied", "\(clients)")
        #expect(!clients.text.contains(try String(contentsOfFile: token, encoding: .utf8).prefix(20)))

        let absent = try await page.call(
            "record", #"{"collection":"user","id":"01a21902-282c-7a58-8d46-5badd4339153"}"#)
        #expect(absent["error"]?.string?.hasPrefix("there is no record of user with id") == true, "\(absent)")

        stop(first)
        summary = try await page.call("summary")
        #expect(summary["database"]?["isServed"] == .boolean(false), "\(summary)")
        // A page that kept the serving lock would stop this.
        let second = try serve()
        #expect(try programs.run("syncd", ["space", "set", "team_7", "arya", "reader"]).status == 0)
        let members = try await page.call("members", #"{"space":"team_7"}"#)
        #expect(members["records"]?.array.first?["account"]?.string == "arya", "\(members)")
        stop(second)
        #expect(page.end(SIGINT) == 0)
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder + "/authority.sqlite-wal")
        #expect((attributes?[.size] as? Int ?? 0) == 0, "the last one that closes leaves everything in the file")
    }

    @Test(.timeLimit(.minutes(5))) func `a database that was replaced, and a taken port, are errors that say so`()
        async throws
    {
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        stop(try programs.serve().process)
        let page = try start()
        defer { page.kill() }
        let taken = try programs.run("syncd", ["inspect", "--port", "\(page.port)"])
        #expect(taken.status == 1 && taken.output.isEmpty)
        #expect(
            taken.errors == """
                syncd: another program uses the port \(page.port) of 127.0.0.1
                  choose another with --port, or leave it out for a free one

                """)
        let file = folder + "/authority.sqlite"
        #expect(rename(file, file + ".old") == 0)
        let gone = try await page.call("summary")
        #expect(gone["error"]?.string == "the database was moved, deleted, or replaced while it was open", "\(gone)")
        #expect(gone["advice"]?.string == "end syncd inspect, and start it again")
        #expect(page.end(SIGTERM) == 0)
    }

    @Test func `without a database, and with an invalid port, nothing is served`() throws {
        let missing = try programs.run("syncd", ["inspect"])
        #expect(missing.status == CommandExitStatus.configuration.rawValue && missing.output.isEmpty)
        #expect(
            missing.errors == """
                syncd: authority.folder: there is no database at \(folder)/authority.sqlite
                  syncd serve makes one

                """)
        #expect(!FileManager.default.fileExists(atPath: folder))
        for port in ["65536", "-1", "x"] {
            let wrong = try programs.run("syncd", ["inspect", "--port", port])
            #expect(wrong.status == CommandExitStatus.usage.rawValue && wrong.output.isEmpty, "\(wrong)")
        }
    }
}

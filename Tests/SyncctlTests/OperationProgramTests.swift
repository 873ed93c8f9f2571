import Foundation
import Glibc
import TestRings
import Testing

@testable import syncctl

/// Tests the commands that look at a server's database and back it up, with the built programs, with and without a
/// running server.
@Suite(.ring(.test), .timeLimit(.minutes(10))) struct OperationProgramTests {
    private let programs: Programs
    private var folder: String { programs.folder + "/.local/share/syncd" }

    init() throws {
        programs = try Programs()
    }

    private func syncd(_ words: String...) throws -> Programs.CommandResult { try programs.run("syncd", words) }

    /// Runs a command of the server that must succeed, and returns its output.
    private func output(_ words: String..., location: SourceLocation = #_sourceLocation) throws -> String {
        let result = try programs.run("syncd", words)
        #expect(result.status == 0 && result.errors.isEmpty, "\(words): \(result)", sourceLocation: location)
        return result.output
    }

    @Test func `a malformed argument is reported with its expected form`() throws {
        for (words, text) in [
            (["clients", "--after", "7"], "'7' is invalid for '--after <id>': expected a client id of 36 characters"),
            (["clients", "release"], "Missing expected argument '<client>'"),
            (["clients", "--limit", "0"], "--limit must be 1 to 10000"),
            (["clients", "--limit", "-1"], "--limit must be 1 to 10000"),
            (["backup"], "Missing expected argument '<file>'"),
        ] {
            let result = try programs.run("syncd", words)
            #expect(result.status == CommandExitStatus.usage.rawValue, "\(words): \(result)")
            #expect(result.errors.contains(text), "\(words): \(result)")
            #expect(result.output.isEmpty)
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `no command creates a database`() throws {
        for words in [["status"], ["clients"], ["conflicts"], ["backup", programs.folder + "/copy"]] {
            let result = try programs.run("syncd", words)
            #expect(
                result.errors == """
                    syncd: authority.folder: there is no database at \(folder)/authority.sqlite
                      syncd serve makes one

                    """)
            #expect(result.status == CommandExitStatus.configuration.rawValue, "\(words): \(result)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(!FileManager.default.fileExists(atPath: programs.folder + "/copy"))
    }

    @Test func `a server is looked at and backed up while it runs, and after it has stopped`() throws {
        let token = programs.folder + "/ned.token"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--output", token]).status == 0)
        let (server, url) = try programs.serve()
        let device = ["--server", url, "--token-file", token]
        #expect(try programs.run("syncctl", ["init"]).status == 0)
        #expect(try programs.run("syncctl", ["user", "create", "username=Milk"] + device).status == 0)
        #expect(try programs.run("syncctl", ["sync"] + device).status == 0)
        #expect(try syncd("space", "set", "team_7", "ned", "writer").status == 0)

        let running = try output("status")
        let lines = running.split(separator: "\n").map(String.init)
        #expect(lines.first == "server       a server runs", "\(running)")
        #expect(
            lines.contains(
                "space        default at version 1, horizon 0; 1 record (user 1); open to every account; no conflicts"),
            "\(running)")
        #expect(lines.contains("space        team_7 has no commits; no records; 1 member; no conflicts"), "\(running)")
        #expect(lines.contains("clients      1 has pushed (syncd clients)"), "\(running)")
        #expect(lines.contains { $0.hasPrefix("database     \(folder)/authority.sqlite: ") }, "\(running)")

        let client = try output("clients").split(separator: "\t").map(String.init)
        try #require(client.count == 6, "\(client)")
        #expect(Array(client[1...4]) == ["ned", "0", "0", "applied"], "\(client)")
        #expect(
            try output("clients", "--json").contains(
                #","account":"ned","incarnation":0,"replaced":false,"last_answered":0,"#))
        let none = try syncd("clients", "--after", client[0])
        #expect(none.status == 0 && none.output.isEmpty, "\(none)")
        #expect(none.errors == "no client after \(client[0]) has pushed\n")
        #expect(
            try output("clients", "release", client[0])
                == "client \(client[0]) does not count as a device of ned until it pushes again\n")
        #expect(try output("clients", "--json").contains(#""replaced":true"#))
        let stranger = try syncd("clients", "release", "00000000-0000-7000-8000-000000000001")
        #expect(stranger.status == 78 && stranger.errors.contains("has pushed"), "\(stranger)")
        #expect(try syncd("conflicts").errors == "no conflict of the space default is stored\n")

        let copy = programs.folder + "/copy.sqlite"
        let backup = try output("backup", copy)
        #expect(
            backup.contains("\nspace        team_7 has no commits; no records; 1 member; no conflicts\n"), "\(backup)")
        #expect(backup.contains("\nbackup       \(copy): ") && backup.hasSuffix(", no damage found\n"), "\(backup)")
        #expect(try output("backup", "--check", copy) == backup)
        let again = try syncd("backup", copy)
        #expect(
            again.errors == """
                syncd: backup: \(copy) exists already; expected the name of a new file
                  give another name, or delete that file first

                """)
        #expect(again.status == CommandExitStatus.configuration.rawValue && again.output.isEmpty)

        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationStatus == 0)
        let stopped = try output("status")
        #expect(stopped.hasPrefix("server       no server runs\n"), "\(stopped)")
        #expect(stopped.contains(lines[1]) && stopped.contains("default at version 1"), "\(stopped)")
        #expect(try output("status", "--json").hasPrefix(#"{"server_runs":false,"epoch":""#))
        #expect(try output("clients").hasPrefix(client[0]))
        #expect(try output("backup", copy + "-2").contains("1 record (user 1)"))
        let files = try FileManager.default.contentsOfDirectory(atPath: programs.folder)
        #expect(files.filter { $0.hasPrefix("copy") }.sorted() == ["copy.sqlite", "copy.sqlite-2"])
    }

    /// A mistake that would mix two databases.
    @Test func `a server does not start with a backup beside the WAL of the database that it replaces`() throws {
        #expect(try syncd("token", "add", "ned").status == 0)
        let (server, _) = try programs.serve()
        let copy = programs.folder + "/copy.sqlite"
        #expect(try syncd("backup", copy).status == 0)
        #expect(try syncd("space", "set", "team_7", "ned", "writer").status == 0)
        kill(server.processIdentifier, SIGKILL)
        server.waitUntilExit()
        let database = folder + "/authority.sqlite"
        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.copyItem(atPath: copy, toPath: database)
        for words in [["--port", "0"], ["status"], ["space", "list"]] {
            let mixed = try programs.run("syncd", words)
            #expect(
                mixed.errors == """
                    syncd: authority.folder: \(database) is a backup, and \(database)-wal beside it belongs to another database
                      restore the database from a backup, and move its files -wal, -shm, and -journal away first

                    """)
            #expect(mixed.status == CommandExitStatus.configuration.rawValue)
        }
        for ending in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: database + ending) }
        _ = try programs.serve()
        #expect(try output("space", "list").isEmpty)
    }
}

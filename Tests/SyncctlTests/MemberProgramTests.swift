import Foundation
import Glibc
import TestRings
import Testing

@testable import syncctl

/// Tests the commands about members of spaces with the built programs, with and without a running server.
@Suite(.ring(.test), .timeLimit(.minutes(10))) struct MemberProgramTests {
    private let programs: Programs
    private var folder: String { programs.folder + "/.local/share/syncd" }

    init() throws {
        programs = try Programs()
    }

    private func space(_ words: String...) throws -> Programs.CommandResult {
        try programs.run("syncd", ["space"] + words)
    }

    @Test func `a malformed argument is reported with its expected form`() throws {
        for (words, text) in [
            (
                ["set", "Team 7", "ned", "writer"],
                "The value 'Team 7' is invalid for '<space>': expected a lowercase letter, then"
            ),
            (["set", "team_7", "two words", "writer"], "'two words' is invalid for '<account>': expected 1 to 128"),
            (["set", "team_7", "#ned", "writer"], "'#ned' is invalid for '<account>'"),
            (["set", "team_7", "ned", "owner"], "'owner' is invalid for '<role>': expected reader or writer"),
            (["set", "team_7", "ned"], "Missing expected argument '<role>'"),
            (["remove", "Team", "ned"], "'Team' is invalid for '<space>'"),
            (["members", "..\u{1b}[31m"], "'..\\u{1B}[31m' is invalid for '<space>'"),
        ] {
            let result = try programs.run("syncd", ["space"] + words)
            #expect(result.status == CommandExitStatus.usage.rawValue, "\(words): \(result)")
            #expect(result.errors.contains(text), "\(words): \(result)")
            #expect(result.output.isEmpty)
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `no command creates a database`() throws {
        for words in [
            ["set", "team_7", "ned", "writer"], ["remove", "team_7", "ned"], ["list"], ["members", "team_7"],
        ] {
            let result = try programs.run("syncd", ["space"] + words)
            #expect(
                result.errors == """
                    syncd: authority.folder: there is no database at \(folder)/authority.sqlite
                      syncd serve makes one

                    """)
            #expect(result.status == CommandExitStatus.configuration.rawValue, "\(words): \(result)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test func `members are changed and listed while a server runs, and after it has stopped`() throws {
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        let (server, _) = try programs.serve()
        let first = try space("set", "team_7", "ned", "writer")
        #expect(first.status == 0 && first.output == "ned is now a writer of team_7, and its only member\n", "\(first)")
        #expect(first.errors.isEmpty)
        #expect(try space("set", "team_7", "ned", "writer").output == "ned is a writer of team_7 already\n")
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationStatus == 0)
        #expect(try space("set", "team_7", "arya", "reader").output == "arya is now a reader of team_7\n")
        #expect(try space("members", "team_7").output == "arya\treader\nned\twriter\n")
        #expect(try space("list").output == "team_7\t2\t0\n")
        let stranger = try space("remove", "team_7", "rob")
        #expect(
            stranger.errors == """
                syncd: rob is not a member of team_7; it has arya (reader), ned (writer)
                  syncd space list shows the spaces with members

                """)
        #expect(stranger.status == CommandExitStatus.configuration.rawValue)
        _ = try programs.serve()
        #expect(
            try space("remove", "team_7", "arya").output == "arya is no longer a member of team_7, and was a reader\n")
        let empty = try space("members", "team_8")
        #expect(empty.status == 0 && empty.output.isEmpty && empty.errors == "team_8 has no members\n", "\(empty)")
        let closing = try space("set", "default", "ned", "writer")
        #expect(closing.status == CommandExitStatus.configuration.rawValue && closing.output.isEmpty, "\(closing)")
        #expect(try space("set", "default", "ned", "writer", "--close-default").status == 0)
        let opening = try space("remove", "default", "ned")
        #expect(opening.status == CommandExitStatus.configuration.rawValue && opening.output.isEmpty, "\(opening)")
        #expect(try space("remove", "default", "ned", "--open-default").status == 0)
    }
}

import Foundation
import SyncProgram
import TestRings
import Testing

@testable import syncctl

/// Text of a hostile server on its way to a person: no command lets it reach the terminal unescaped.
@Suite(.ring(.test)) struct HostileTextTests {
    /// As JSON, in the message of an error: a window title, a line that is drawn over, C1, a bidirectional override.
    private static let body =
        #"{"error":{"code":"failed","message":"gone\u001b]0;owned\u0007\r\u001b[2Kin sync\u009b31m\u202e\nsyncctl: in sync","request":"REQUEST"}}"#

    private static func expectHarmless(_ text: String, _ command: [String]) {
        // The control sequences that syncctl itself writes.
        let foreign = text.replacing("\r\u{1B}[K", with: "").replacing("\r\n", with: "\n")
        for scalar in ["\u{1B}]", "\u{1B}[2", "\u{7}", "\r", "\u{9B}", "\u{202E}"] {
            #expect(!foreign.contains(scalar), "\(command): \(TerminalText.escaped(text))")
        }
        #expect(!foreign.contains("\nsyncctl: in sync"), "\(command): \(TerminalText.escaped(text))")
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["sync"], ["sync", "--json"], ["digest", "--remote"],
        ["sync", "--log-level", "trace"],
    ])
    func `a server's error text is escaped in answers, errors and the log`(command: [String]) throws {
        let server = try ScriptedServer(ScriptedServer.json("503 Service Unavailable", Self.body))
        let programs = try Programs()
        try programs.syncctl("init")
        let answer = try programs.run("syncctl", command + ["--server", server.url])
        #expect((answer.output + answer.errors).contains("owned"), "\(command): \(answer)")
        Self.expectHarmless(answer.output, command)
        Self.expectHarmless(answer.errors, command)
    }

    private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    @Test(.enabled(if: hasScript, "script(1) is not installed, which makes a terminal for a program"))
    func `a server's error text is escaped in the progress line of a terminal`() throws {
        let server = try ScriptedServer(ScriptedServer.json("503 Service Unavailable", Self.body))
        let programs = try Programs()
        try programs.syncctl("init")
        let answer = try programs.run(
            "syncctl", [],
            launcher: ["sh", "-c", "exec script -qec \"$0 sync --wait 3s --server \(server.url)\" /dev/null"])
        #expect(answer.output.contains("\r\u{1B}[K"), "\(TerminalText.escaped(answer.output))")
        Self.expectHarmless(answer.output, ["sync on a terminal"])
    }

    @Test func `the progress line escapes what it shows, and is cut behind that`() {
        #expect(
            Progress.line("offline: a\u{1B}]0;b\r\u{202E}").rendered == "\r\u{1B}[Koffline: a\\u{1B}]0;b\\r\\u{202E}")
        #expect(Progress.line(String(repeating: "\u{7}", count: 99)).rendered.count == 82)
    }

    @Test func `an argument with escape sequences is escaped in the parser's complaint`() throws {
        for program in ["syncctl", "syncd"] {
            let answer = try Programs().run(program, ["--no-such-\u{1B}]0;owned\u{7}"])
            #expect(answer.status == CommandStatus.usage.rawValue)
            #expect(answer.errors.contains("\\u{1B}]0;owned\\u{7}"), "\(TerminalText.escaped(answer.errors))")
            Self.expectHarmless(answer.errors, [program])
        }
    }
}

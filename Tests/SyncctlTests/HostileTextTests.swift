import Foundation
import SyncProgram
import TestRings
import Testing

@testable import syncctl

/// Tests that no command prints text from a hostile server to the terminal without escaping it.
@Suite(.ring(.test)) struct HostileTextTests {
    /// An error in JSON whose message sets a window title, overwrites a line, and contains a C1 control and a
    /// bidirectional override.
    private static let body =
        #"{"error":{"code":"failed","message":"gone\u001b]0;owned\u0007\r\u001b[2Kin sync\u009b31m\u202e\nsyncctl: in sync","request":"REQUEST"}}"#

    private static func expectHarmless(_ text: String, _ command: [String]) {
        // Removes the control sequences that syncctl itself writes.
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
    func `a server's error text is escaped in output, errors, and the log`(command: [String]) throws {
        let server = try ScriptedServer(ScriptedServer.json("503 Service Unavailable", Self.body))
        defer { withExtendedLifetime(server) {} }
        let programs = try Programs()
        try programs.syncctl("init")
        let response = try programs.run("syncctl", command + ["--server", server.url])
        #expect((response.output + response.errors).contains("owned"), "\(command): \(response)")
        Self.expectHarmless(response.output, command)
        Self.expectHarmless(response.errors, command)
    }

    private static let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

    @Test(.ring(.check), .enabled(if: hasScript, "script(1) is not installed, which makes a terminal for a program"))
    func `a server's error text is escaped in the progress line of a terminal`() throws {
        let server = try ScriptedServer(ScriptedServer.json("503 Service Unavailable", Self.body))
        defer { withExtendedLifetime(server) {} }
        let programs = try Programs()
        try programs.syncctl("init")
        let response = try programs.run(
            "syncctl", [],
            launcher: ["sh", "-c", "exec script -qec \"$0 sync --wait 3s --server \(server.url)\" /dev/null"])
        #expect(response.output.contains("\r\u{1B}[K"), "\(TerminalText.escaped(response.output))")
        Self.expectHarmless(response.output, ["sync on a terminal"])
    }

    @Test func `the progress line is escaped and then truncated`() {
        #expect(
            Progress.line("offline: a\u{1B}]0;b\r\u{202E}").rendered == "\r\u{1B}[Koffline: a\\u{1B}]0;b\\r\\u{202E}")
        #expect(Progress.line(String(repeating: "\u{7}", count: 99)).rendered.count == 82)
    }

    @Test func `an argument with escape sequences is escaped in the parser's error message`() throws {
        for program in ["syncctl", "syncd"] {
            let response = try Programs().run(program, ["--no-such-\u{1B}]0;owned\u{7}"])
            #expect(response.status == CommandExitStatus.usage.rawValue)
            #expect(response.errors.contains("\\u{1B}]0;owned\\u{7}"), "\(TerminalText.escaped(response.errors))")
            Self.expectHarmless(response.errors, [program])
        }
    }
}

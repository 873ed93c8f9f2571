import Foundation
import TestRings
import Testing

@testable import syncctl

/// Tests `syncctl recording` and `syncctl replay`, with a real server and without one.
@Suite(.ring(.test)) struct RecordingProgramTests {
    /// A secret text. The test puts it in every place from which data could get into a recording.
    private static let canary = "canary7f3a"

    private func exported(_ programs: Programs, _ store: [String], name: String) throws -> [String] {
        let file = programs.folder + "/" + name
        let response = try programs.run("syncctl", ["recording", "export", "--to", file] + store)
        #expect(response.status == 0, "\(response.errors)")
        return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Writes lines to a file with a valid closing line, and returns its path.
    private func seal(_ lines: [String], _ programs: Programs, as name: String) throws -> String {
        let body = lines.map { $0 + "\n" }.joined()
        let file = programs.folder + "/" + name
        try body.write(toFile: file, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sha256sum")
        process.arguments = [file]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let digest = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).prefix(64)
        process.waitUntilExit()
        let turns = lines.count { $0.hasPrefix(#"{"turn""#) }
        try (body + "{\"end\":{\"turns\":\(turns),\"sha256\":\"\(digest)\"}}\n")
            .write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test(.timeLimit(.minutes(10))) func `a sync is recorded, exported without secrets, and replayed`() throws {
        let programs = try Programs()
        let token = programs.folder + "/a.token"
        #expect(try programs.run("syncd", ["token", "add", Self.canary, "--output", token]).status == 0)
        let (_, url) = try programs.serve()
        let there = ["--server", url, "--token-file", token, "--set", "recorder.events=60"]
        let store = ["--store", programs.folder + "/" + Self.canary]
        #expect(try programs.run("syncctl", ["init"] + store).status == 0)
        #expect(try programs.run("syncctl", ["user", "create", "username=\(Self.canary)"] + store).status == 0)
        let sync = try programs.run("syncctl", ["sync"] + store + there)
        #expect(sync.status == 0, "\(sync.errors)")

        // The host name of this server, which does not exist, must appear in the error message but not in the
        // recording.
        let nowhere = ["--environment", "development", "--server", "http://\(Self.canary).invalid"]
        let lost = try programs.run(
            "syncctl", ["sync", "--wait", "1s", "--set", "recorder.events=60"] + store + nowhere,
            variables: ["SYNCCTL_SERVER_TOKEN": "token-\(Self.canary)"])
        #expect(lost.status == CommandExitStatus.notSynced.rawValue, "\(lost.errors)")
        #expect(lost.errors.contains(Self.canary), "\(lost.errors)")

        let status = try programs.run("syncctl", ["recording", "status", "--json"] + store + there)
        #expect(status.output.hasPrefix(#"{"capacity":60,"events":"#), "\(status.output)")
        #expect(!status.output.contains(#""events":0"#))
        let lines = try exported(programs, store, name: "one")
        let secret = try String(contentsOfFile: token, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        let port = try #require(url.split(separator: ":").last.map(String.init))
        for text in [Self.canary, secret, "127.0.0.1", ":\(port)", "username"] {
            #expect(!lines.contains { $0.contains(text) }, "\(text)")
        }
        #expect(lines.contains { $0.contains(#""code":"unreachable""#) })

        let replay = try programs.run("syncctl", ["replay", programs.folder + "/one"])
        #expect(replay.status == 0, "\(replay.errors)")
        let last = try #require(replay.output.split(separator: "\n").last)
        #expect(last == "replayed \(lines.count { $0.hasPrefix(#"{"turn""#) }) events: same actions as recorded")
        #expect(replay.output.contains("-> hello #0") && replay.output.contains("hello ended: #0, epoch"))
        #expect(replay.output.components(separatedBy: "started at ").count == 3)
        let quiet = try programs.run("syncctl", ["replay", "--quiet", programs.folder + "/one"])
        #expect(quiet.output == last + "\n")
        let json = try programs.run("syncctl", ["replay", "--json", programs.folder + "/one"])
        #expect(json.output.hasSuffix("\"same\":true,\"difference\":null}\n"), "\(json.output.suffix(200))")
        for line in json.output.split(separator: "\n") {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        }

        // Simulates a recording by another build, whose engine returned a different action.
        let index = try #require(lines.firstIndex { $0.contains(#""hello #0""#) })
        var planted = Array(lines.dropLast())
        planted[index] = planted[index].replacing(#""hello #0""#, with: #""hello #0\u001b[31m""#)
        let file = try seal(planted, programs, as: "planted")
        let different = try programs.run("syncctl", ["replay", file])
        #expect(different.status == CommandExitStatus.different.rawValue, "\(different.errors)")
        #expect(different.output.contains("recorded: hello #0\\u{1B}[31m; replayed: hello #0"), "\(different.output)")
        #expect(!different.output.contains("\u{1B}"))

        let again = try programs.run("syncctl", ["recording", "export", "--to", programs.folder + "/one"] + store)
        #expect(again.status == CommandExitStatus.failed.rawValue)
        #expect(again.errors.contains("choose a file that does not exist yet"), "\(again.errors)")
        let out = try programs.run("syncctl", ["recording", "export"] + store)
        #expect(try programs.syncctl("replay", "-", input: out.output).status == 0)
        #expect(try programs.run("syncctl", ["recording", "clear"] + store).output.hasSuffix("events forgotten\n"))
        #expect(try programs.run("syncctl", ["recording"] + store).output.contains("nothing is recorded"))
    }

    @Test func `without the setting nothing is recorded, and export reports how to enable it`() throws {
        let programs = try Programs()
        try programs.syncctl("init")
        #expect(
            try programs.syncctl("recording", "status").output.contains("the recorder is off (recorder.events is 0)"))
        let response = try programs.syncctl("recording", "export")
        #expect(response.status == CommandExitStatus.failed.rawValue)
        #expect(response.errors.contains("nothing is recorded") && response.errors.contains("recorder.events"))
    }

    @Test(arguments: [
        ("", "the file is empty"), ("nonsense\n", "line 1: not JSON"), ("{}\n", "not a recording"),
        ("{\"tombolo_recording\":9}\n", "formats up to 3"),
        ("{\"tombolo_recording\":1,\"exported_at\":1,\"build\":\"0\",\"schema\":2}\n{\"turn\"\n", "line 2: not JSON"),
        ("{\"tombolo_recording\":1,\"exported_at\":1,\"build\":\"0\",\"schema\":2}\n", "a part of it is missing"),
    ])
    func `an incomplete or invalid recording is refused with the reason`(text: String, words: String) throws {
        let response = try Programs().syncctl("replay", "-", input: text)
        #expect(response.status == CommandExitStatus.noInput.rawValue)
        #expect(response.output.isEmpty)
        #expect(response.errors.contains(words), "\(response.errors)")
    }

    @Test func `a recording that was changed after its export is refused`() throws {
        let programs = try Programs()
        let example = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Schemas/recording/example.jsonl")
        let text = try String(contentsOf: example, encoding: .utf8)
        #expect(try programs.syncctl("replay", "-", input: text).status == 0)
        let changed = text.replacing(#""waiting":1"#, with: #""waiting":2"#, maxReplacements: 1)
        #expect(changed != text)
        let response = try programs.syncctl("replay", "-", input: changed)
        #expect(response.status == CommandExitStatus.noInput.rawValue)
        #expect(response.errors.contains("changed after its export"), "\(response.errors)")
        #expect(try programs.syncctl("replay", "/nonexistent").status == CommandExitStatus.noInput.rawValue)
    }
}

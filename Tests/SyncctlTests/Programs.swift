import Foundation
import Testing

/// The built programs, run as people and scripts run them, in a folder of their own that goes with the test.
final class Programs {
    let folder: String
    private var servers: [Process] = []

    struct Answer {
        let status: Int32
        let output: String
        let errors: String
    }

    init() throws {
        folder = NSTemporaryDirectory() + "tombolo-programs-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        for server in servers where server.isRunning {
            kill(server.processIdentifier, SIGKILL)
            server.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Beside the bundle of the tests.
    static func path(_ program: String) -> String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: program).path(percentEncoded: false)
    }

    func start(
        _ program: String, _ arguments: [String], input: String? = nil, variables: [String: String] = [:],
        launcher: [String] = []
    ) throws -> (process: Process, output: Pipe, errors: Pipe) {
        let process = Process()
        let words = launcher + [Self.path(program)] + arguments
        process.executableURL = URL(filePath: launcher.isEmpty ? words[0] : "/usr/bin/env")
        process.arguments = launcher.isEmpty ? Array(words.dropFirst()) : words
        // The options of a sanitizer hold for the programs, too.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
            .merging(["HOME": folder, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]) { $1 }.merging(variables) { $1 }
        let (output, errors, feed) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = feed
        try process.run()
        if let input { try feed.fileHandleForWriting.write(contentsOf: Data(input.utf8)) }
        try feed.fileHandleForWriting.close()
        return (process, output, errors)
    }

    /// Starts a server on a free port; it ends with this object at the latest.
    func serve(_ arguments: String...) throws -> (process: Process, url: String) {
        let (process, output, _) = try start("syncd", ["--port", "0"] + arguments)
        servers.append(process)
        let line = try Self.text(of: output, upTo: "\n")
        #expect(line.hasPrefix("listening on http://127.0.0.1:"), "\(line)")
        return (process, try #require(line.split(whereSeparator: \.isWhitespace).last.map(String.init), "\(line)"))
    }

    /// Returns the text that comes out of a pipe until `mark` has come: in one piece or in several.
    static func text(of pipe: Pipe, upTo mark: String) throws -> String {
        var bytes = Data()
        while true {
            let chunk = pipe.fileHandleForReading.availableData
            bytes += chunk
            let text = String(decoding: bytes, as: UTF8.self)
            if text.contains(mark) { return text }
            try #require(!chunk.isEmpty, "the output ended without '\(mark)': \(text)")
        }
    }

    @discardableResult
    func syncctl(
        _ arguments: String..., input: String? = nil, variables: [String: String] = [:], launcher: [String] = []
    ) throws -> Answer {
        try run("syncctl", arguments, input: input, variables: variables, launcher: launcher)
    }

    /// Runs a program of the system to its end.
    func tool(_ name: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    func run(
        _ program: String, _ arguments: [String], input: String? = nil, variables: [String: String] = [:],
        launcher: [String] = []
    ) throws -> Answer {
        let (process, output, errors) = try start(
            program, arguments, input: input, variables: variables, launcher: launcher)
        // Answers are short: they fit into a pipe.
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let words = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Answer(
            status: process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus,
            output: String(decoding: text, as: UTF8.self), errors: String(decoding: words, as: UTF8.self))
    }
}

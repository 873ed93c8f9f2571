import Dispatch
import Foundation
import SyncConcurrency
import Testing

/// Runs the built programs as users do, in a temporary folder that is deleted at the end of the test.
final class Programs {
    let folder: String
    private var servers: [Process] = []

    struct CommandResult {
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

    /// Returns the path of a program, which is next to the test bundle.
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
        // The programs inherit the options of sanitizers.
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

    /// Starts a server on a free port. The server is killed when this object is deallocated, if it still runs then.
    func serve(_ arguments: String...) throws -> (process: Process, url: String) {
        try serve(arguments)
    }

    func serve(_ arguments: [String]) throws -> (process: Process, url: String) {
        let (process, output, _) = try start("syncd", ["--port", "0"] + arguments)
        servers.append(process)
        let line = try Self.text(of: output, upTo: "\n")
        #expect(line.hasPrefix("listening on http://127.0.0.1:"), "\(line)")
        return (process, try #require(line.split(whereSeparator: \.isWhitespace).last.map(String.init), "\(line)"))
    }

    /// Reads from a pipe until the text contains `mark`, and returns the text.
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
    ) throws -> CommandResult {
        try run("syncctl", arguments, input: input, variables: variables, launcher: launcher)
    }

    /// Runs a system program until it ends.
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
    ) throws -> CommandResult {
        let (process, output, errors) = try start(
            program, arguments, input: input, variables: variables, launcher: launcher)
        // Both outputs are read at the same time, because a program waits while the buffer of either pipe is full.
        let (words, hasRead) = (Guarded(Data()), DispatchSemaphore(value: 0))
        DispatchQueue(label: "errors of \(program)").async { [handle = errors.fileHandleForReading] in
            let data = (try? handle.readToEnd()) ?? Data()
            words.withLock { $0 = data }
            hasRead.signal()
        }
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        hasRead.wait()
        process.waitUntilExit()
        return CommandResult(
            status: process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: words.withLock { $0 }, as: UTF8.self))
    }
}

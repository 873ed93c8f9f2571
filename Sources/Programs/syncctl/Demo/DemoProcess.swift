import Foundation
import Glibc
import SyncCore

/// A child process of the demonstration, whose output goes into files.
final class DemoProcess {
    private let process = Process()
    private let outputPath: String
    private let errorsPath: String
    let name: String

    /// - Parameter log: where output and errors are written, without the ending.
    init(
        _ name: String, program: String, arguments: [String], variables: [String: String], log: String
    ) throws {
        self.name = name
        outputPath = log + ".out"
        errorsPath = log + ".err"
        for path in [outputPath, errorsPath] {
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                throw CommandFailure(.machine, "\(path) cannot be made")
            }
        }
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = variables
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: outputPath)
        process.standardError = FileHandle(forWritingAtPath: errorsPath)
        do {
            try process.run()
        } catch {
            throw CommandFailure(.machine, "\(program) cannot be run")
        }
    }

    var isRunning: Bool { process.isRunning }

    /// Sends a signal to this process alone; nothing when it has ended.
    func send(_ signal: Int32) {
        if process.isRunning { kill(process.processIdentifier, signal) }
    }

    /// How it ended: its exit status, or 128 and the signal that killed it.
    var status: Int32 {
        process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus
    }

    var output: String { (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOfFile: errorsPath, encoding: .utf8)) ?? "" }

    /// Waits for its end. It is killed, and this throws, when that takes too long.
    func wait(_ runtime: EngineRuntime, atMost patience: Duration) async throws {
        let start = runtime.uptime()
        while process.isRunning {
            guard runtime.uptime() - start < patience else {
                send(SIGKILL)
                throw CommandFailure(.failed, "\(name) did not end within \(patience.shortText)")
            }
            try await runtime.clock.sleep(for: .milliseconds(5))
        }
    }
}

import Foundation
import Glibc
import SyncCore

/// A child process of the demo. Its output goes to files.
final class DemoProcess {
    private let process = Process()
    private let outputPath: String
    private let errorsPath: String
    let name: String

    /// Starts the process.
    ///
    /// - Parameter log: the path of the two output files, without the extension.
    init(
        _ name: String, program: String, arguments: [String], variables: [String: String], log: String
    ) throws {
        self.name = name
        outputPath = log + ".out"
        errorsPath = log + ".err"
        for path in [outputPath, errorsPath] {
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                throw CommandError(.machine, "\(path) cannot be created")
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
            throw CommandError(.machine, "\(program) cannot be run")
        }
    }

    var isRunning: Bool { process.isRunning }

    /// Sends a signal to this process only. Does nothing if it has ended.
    func send(_ signal: Int32) {
        if process.isRunning { kill(process.processIdentifier, signal) }
    }

    /// The exit status, or 128 plus the signal that killed it.
    var status: Int32 {
        process.terminationReason == .uncaughtSignal ? 128 + process.terminationStatus : process.terminationStatus
    }

    var output: String { (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOfFile: errorsPath, encoding: .utf8)) ?? "" }

    /// Waits for the process to end. After `timeout`, kills it and throws.
    func wait(_ runtime: EngineRuntime, atMost timeout: Duration) async throws {
        let start = runtime.uptime()
        while process.isRunning {
            guard runtime.uptime() - start < timeout else {
                send(SIGKILL)
                throw CommandError(.failed, "\(name) did not end within \(timeout.shortText)")
            }
            try await runtime.clock.sleep(for: .milliseconds(5))
        }
    }
}

import Foundation
import Glibc
import SyncCore

/// The machines of the demo: a server and two devices, each with its folder, and the processes that run on them.
final class DemoWorld {
    let folder: String
    let runtime: EngineRuntime
    private let syncctl: String
    private let syncd: String
    private let variables: [String: String]
    private var children: [DemoProcess] = []
    private(set) var server: DemoProcess?
    private var port = 0
    private var runs = 0

    enum Device: String, CaseIterable {
        case laptop, kiosk
    }

    init(folder: String, syncctl: String, syncd: String, runtime: EngineRuntime) throws {
        guard FileManager.default.isExecutableFile(atPath: syncd) else {
            throw CommandError(
                .noInput, "there is no syncd beside syncctl: \(syncd)", advice: "build both, or set --syncd")
        }
        self.folder = folder
        self.syncctl = syncctl
        self.syncd = syncd
        self.runtime = runtime
        // The user's own configuration must not affect the demo.
        variables = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": folder, "NO_COLOR": "1",
            "SYNCCTL_ENVIRONMENT": "test", "SYNCD_ENVIRONMENT": "test", "SWIFT_BACKTRACE": "enable=no",
        ]
        for name in ["server", "laptop", "kiosk", "logs"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(name)", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
    }

    /// Kills the processes that this object started and that are still running.
    func end() {
        for child in children { child.send(SIGKILL) }
        children = []
        server = nil
    }

    private func start(_ name: String, _ program: String, _ arguments: [String]) throws -> DemoProcess {
        runs += 1
        let number = String(repeating: "0", count: max(0, 3 - String(runs).count)) + String(runs)
        let process = try DemoProcess(
            name, program: program, arguments: arguments, variables: variables,
            log: "\(folder)/logs/\(number)-\(name.split(separator: " ")[0])")
        children.removeAll { !$0.isRunning }
        children.append(process)
        return process
    }

    // MARK: Server

    func addToken(for device: Device) async throws {
        try await finish(
            try start(
                "syncd token add \(device)", syncd,
                [
                    "token", "add", device.rawValue, "--folder", "\(folder)/server", "--output",
                    "\(folder)/\(device).token",
                ]))
    }

    /// Starts the server, on a free port at first, and on the same port after that.
    func startServer() async throws {
        let portFile = "\(folder)/port"
        try? FileManager.default.removeItem(atPath: portFile)
        let process = try start(
            "syncd", syncd,
            ["--folder", "\(folder)/server", "--host", "127.0.0.1", "--port", String(port), "--port-file", portFile])
        let begin = runtime.uptime()
        while true {
            if let text = try? String(contentsOfFile: portFile, encoding: .utf8),
                let number = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
            {
                port = number
                break
            }
            guard process.isRunning, runtime.uptime() - begin < .seconds(20) else {
                throw CommandError(.failed, "syncd did not start: \(process.errors)")
            }
            try await runtime.clock.sleep(for: .milliseconds(5))
        }
        server = process
    }

    /// Stops the server with a signal: gracefully, or by SIGKILL.
    func stopServer(_ signal: Int32) async throws {
        guard let server else { return }
        server.send(signal)
        try await server.wait(runtime, atMost: .seconds(20))
        self.server = nil
    }

    // MARK: Devices

    /// Runs syncctl on a device to its end, and returns its output. A device can reach the server only if `online` is
    /// true.
    @discardableResult
    func run(
        _ device: Device, _ arguments: [String], online: Bool = false, accepting statuses: Set<Int32> = [0]
    ) async throws -> String {
        try await finish(try begin(device, arguments, online: online), accepting: statuses)
    }

    func begin(_ device: Device, _ arguments: [String], online: Bool = false) throws -> DemoProcess {
        var all = arguments + ["--store", "\(folder)/\(device)"]
        if online {
            all += ["--server", "http://127.0.0.1:\(port)", "--token-file", "\(folder)/\(device).token"]
        }
        return try start("\(device) \(arguments.prefix(2).joined(separator: " "))", syncctl, all)
    }

    @discardableResult
    private func finish(_ process: DemoProcess, accepting statuses: Set<Int32> = [0]) async throws -> String {
        try await process.wait(runtime, atMost: .seconds(300))
        guard statuses.contains(process.status) else {
            throw CommandError(
                .failed, "\(process.name) ended with status \(process.status): \(process.errors)\(process.output)")
        }
        return process.output
    }
}

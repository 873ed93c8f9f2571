import Foundation
import Glibc
import SyncConcurrency

/// A device: a database, and the `syncctl` processes that use it.
final class Device: Sendable {
    let name: String
    let folder: String
    let proxy: ByteProxy
    let tokenFile: String
    private let logs: String
    private let variables: [String: String]
    private let state = Guarded(State())

    private struct State {
        var runs = 0
        var launcher: [String] = []
        var timeouts: [String: String] = [:]
        var watch: Child?
    }

    init(
        _ name: String, folder: String, logs: String, variables: [String: String], proxy: ByteProxy, token: String,
        certificate: String?
    ) throws {
        self.name = name
        self.folder = folder
        self.logs = logs
        self.proxy = proxy
        tokenFile = token
        // The waits between attempts are short. The timeouts are long, so that a busy machine does not reach them.
        var all = [
            "SYNCCTL_STORE_FOLDER": folder,
            "SYNCCTL_SERVER_URL": "\(certificate == nil ? "http" : "https")://127.0.0.1:\(proxy.port)",
            "SYNCCTL_SERVER_TOKEN_FILE": token, "SYNCCTL_SERVER_CONNECT_TIMEOUT": "300s",
            "SYNCCTL_SERVER_REQUEST_TIMEOUT": "300s", "SYNCCTL_SYNC_BACKOFF_INITIAL": "50ms",
            "SYNCCTL_SYNC_BACKOFF_CAP": "400ms", "SYNCCTL_SYNC_POLL_INTERVAL": "1s",
            "SYNCCTL_SYNC_STOP_DEADLINE": "500ms",
        ]
        if let certificate { all["SYNCCTL_SERVER_CA_FILE"] = certificate }
        self.variables = all.merging(variables) { $1 }
    }

    var database: String { folder + "/tombolo.sqlite" }

    /// Sets the command-line prefix for later processes.
    func setLauncher(_ words: [String]) { state.withLock { $0.launcher = words } }

    /// Sets the connection and request timeouts for later processes.
    func setTimeouts(_ timeout: Duration) {
        let text = timeout.words.filter { $0 != " " }
        state.withLock {
            $0.timeouts = ["SYNCCTL_SERVER_CONNECT_TIMEOUT": text, "SYNCCTL_SERVER_REQUEST_TIMEOUT": text]
        }
    }

    func start(_ arguments: [String], input: String? = nil) throws -> Child {
        let (number, launcher, timeouts) = state.withLock { state in
            state.runs += 1
            return (state.runs, state.launcher, state.timeouts)
        }
        return try Child(
            "\(name): syncctl \(arguments.prefix(3).joined(separator: " "))",
            launcher + [BuiltProgram.syncctl.path] + arguments, variables: variables.merging(timeouts) { $1 },
            log: "\(logs)/\(name)-\(number)", input: input)
    }

    /// Runs a command until it ends.
    ///
    /// - Parameter killedAfter: The time after which the command is killed if it is still running.
    func run(
        _ arguments: [String], input: String? = nil, killedAfter: Duration? = nil, within: Duration = .processTimeout
    ) throws -> CommandResult {
        let child = try start(arguments, input: input)
        if let killedAfter {
            let start = ContinuousClock.now
            while child.isRunning, ContinuousClock.now - start < killedAfter { usleep(500) }
            child.send(SIGKILL)
        }
        let status = try child.wait(atMost: within)
        return CommandResult(status: status, output: child.output, errors: child.errors)
    }

    /// Runs a command that must end with this status.
    @discardableResult
    func expect(
        _ status: Int32 = 0, _ arguments: String..., input: String? = nil
    ) throws -> CommandResult {
        let result = try run(arguments, input: input)
        try require(
            result.status == status,
            "\(name): syncctl \(arguments.joined(separator: " ")) ended with \(result.status), expected \(status): \(result.errors)\(result.output.suffix(1_000))"
        )
        return result
    }

    // MARK: The watching process

    /// Starts `sync --watch` unless it is running.
    func startWatch() throws {
        guard !isWatching else { return }
        let child = try start(["sync", "--watch", "--json"])
        state.withLock { $0.watch = child }
    }

    var isWatching: Bool { state.withLock { $0.watch }?.isRunning ?? false }
    var lastWatchLine: String { watchOutput.split(separator: "\n").last.map(String.init) ?? "" }
    var watchOutput: String { state.withLock { $0.watch }?.output ?? "" }
    var watchErrors: String { state.withLock { $0.watch }?.errors ?? "" }
    func signalWatch(_ signal: Int32) { state.withLock { $0.watch }?.send(signal) }

    @discardableResult
    func endWatch(_ signal: Int32) -> Int32? {
        guard let child = state.withLock({ $0.watch }) else { return nil }
        child.send(SIGCONT)
        child.send(signal)
        let status = try? child.wait(atMost: .processTimeout)
        state.withLock { $0.watch = nil }
        return status
    }
}

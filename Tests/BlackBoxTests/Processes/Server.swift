import Foundation
import Glibc
import SyncConcurrency

/// A `syncd` process on one folder. It can be killed, stopped, and restarted, and always uses the same port.
final class Server: Sendable {
    let folder: String
    let port: UInt16
    let isEncrypted: Bool
    private let logs: String
    private let variables: [String: String]
    private let certificate: (certificate: String, key: String)?
    private let state = Guarded(State())

    private struct State {
        var child: Child?
        /// The last process, which may have ended.
        var last: Child?
        var launcher: [String] = []
        var starts = 0
        var commands = 0
    }

    init(
        folder: String, logs: String, variables: [String: String], certificate: (certificate: String, key: String)?
    ) throws {
        self.folder = folder
        self.logs = logs
        self.variables = variables
        self.certificate = certificate
        isEncrypted = certificate != nil
        // All starts use this port.
        port = try LoopbackSocket.lastingPort()
    }

    var database: String { folder + "/authority.sqlite" }

    /// Sets the command-line prefix for later starts.
    func setLauncher(_ words: [String]) { state.withLock { $0.launcher = words } }

    func addToken(_ name: String, to file: String) throws {
        try manage(["token", "add", name, "--output", file], log: "token-\(name)")
    }

    /// Declares that the database was restored from a backup. No process may use the database.
    func renewEpoch() throws {
        try manage(["epoch", "renew"], log: "epoch")
    }

    /// Runs a command of the server's program until it ends, and returns its output. It must succeed.
    @discardableResult
    func manage(_ words: [String]) throws -> String {
        let number = state.withLock { state in
            state.commands += 1
            return state.commands
        }
        return try manage(words, log: "command-\(number)")
    }

    @discardableResult
    private func manage(_ words: [String], log: String) throws -> String {
        let name = "syncd " + words.joined(separator: " ")
        let child = try Child(
            name, [BuiltProgram.syncd.path] + words + ["--folder", folder], variables: variables,
            log: "\(logs)/\(log)")
        try require(try child.wait(atMost: .processTimeout) == 0, "\(name): \(child.errors)")
        return child.output
    }

    /// Starts the server and waits until it listens.
    func start() throws {
        let (number, launcher) = state.withLock { state in
            state.starts += 1
            return (state.starts, state.launcher)
        }
        var words =
            launcher + [BuiltProgram.syncd.path, "--folder", folder, "--host", "127.0.0.1", "--port", String(port)]
        if let certificate {
            words += [
                "--set", "listen.certificate-file=\(certificate.certificate)", "--set",
                "listen.key-file=\(certificate.key)",
            ]
        }
        let child = try Child("syncd", words, variables: variables, log: "\(logs)/syncd-\(number)")
        state.withLock { state in
            state.child = child
            state.last = child
        }
        try eventually("syncd listens; it says: \(child.errors)") {
            try require(child.isRunning, "syncd ended with \(child.status ?? -1): \(child.errors)")
            return child.output.contains("listening on")
        }
    }

    var isRunning: Bool { state.withLock { $0.child }?.isRunning ?? false }
    var process: pid_t? { state.withLock { $0.child?.process } }
    /// The last process's standard error.
    var errors: String { state.withLock { $0.last }?.errors ?? "" }

    func send(_ signal: Int32) { state.withLock { $0.child }?.send(signal) }

    /// - Returns: The exit status, or nil if the server was not running.
    @discardableResult
    func end(_ signal: Int32) -> Int32? {
        guard let child = state.withLock({ $0.child }) else { return nil }
        child.send(signal)
        let status = try? child.wait(atMost: .processTimeout)
        state.withLock { $0.child = nil }
        return status
    }
}

import Foundation
import Glibc
import SyncConcurrency

/// A child process whose output goes to files. It does not outlive this object.
final class Child: Sendable {
    let name: String
    let process: pid_t
    private let outputPath: String
    private let errorsPath: String
    /// The exit status, or 128 plus the signal. Nil while the process runs.
    private let ending = Guarded<Int32?>(nil)

    /// - Parameters:
    ///   - words: The program's path and its arguments.
    ///   - log: The path for its output and errors, without the extension.
    init(_ name: String, _ words: [String], variables: [String: String], log: String, input: String? = nil) throws {
        self.name = name
        outputPath = log + ".out"
        errorsPath = log + ".err"
        let inputPath = input == nil ? "/dev/null" : log + ".in"
        if let input { try Data(input.utf8).write(to: URL(filePath: inputPath)) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errorsPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        // The child must not inherit other descriptors, such as sockets of the proxy or pipes of other tests. Closing a
        // descriptor that is not open is not an error.
        for descriptor in 3...(Self.highestDescriptor() + 64) {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        // The child must receive signals even if Foundation or the test's thread has masked or ignored them.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var environment: [UnsafeMutablePointer<CChar>?] =
            variables.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + environment { free(pointer) } }
        var process: pid_t = 0
        let status = posix_spawn(&process, words[0], &actions, &attributes, &arguments, &environment)
        guard status == 0 else {
            throw UnmetConditionError("\(words[0]) cannot be run: \(String(cString: strerror(status)))")
        }
        self.process = process
    }

    deinit {
        send(SIGKILL)
        _ = try? wait(atMost: .processTimeout)
    }

    /// The exit status, or 128 plus the signal. Nil while the process runs.
    var status: Int32? {
        ending.withLock { ending in
            if ending == nil {
                var word: Int32 = 0
                if waitpid(process, &word, WNOHANG) == process {
                    ending = word & 0x7f == 0 ? (word >> 8) & 0xff : 128 + (word & 0x7f)
                }
            }
            return ending
        }
    }

    var isRunning: Bool { status == nil }

    /// Sends a signal. Does nothing if the process has ended, because its id may belong to another process by then.
    func send(_ signal: Int32) {
        ending.withLock { ending in
            if ending == nil { kill(process, signal) }
        }
    }

    /// - Throws: If the process has not ended in time. It is then killed.
    @discardableResult
    func wait(atMost timeout: Duration) throws -> Int32 {
        let start = ContinuousClock.now
        while true {
            if let status { return status }
            guard ContinuousClock.now - start < timeout else {
                send(SIGKILL)
                throw UnmetConditionError("\(name) did not end within \(timeout): \(errors)\(output.suffix(2_000))")
            }
            usleep(1_000)
        }
    }

    private static func highestDescriptor() -> Int32 {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.compactMap { Int32($0) }.max() ?? 1_024
    }

    var output: String { (try? String(contentsOfFile: outputPath, encoding: .utf8)) ?? "" }
    var errors: String { (try? String(contentsOfFile: errorsPath, encoding: .utf8)) ?? "" }
}

/// The exit status and the output of a command.
struct CommandResult: Sendable {
    /// The exit status, or 128 plus the signal that ended the command.
    let status: Int32
    let output: String
    let errors: String

    /// The complete lines of the output.
    var lines: [Substring] {
        output.hasSuffix("\n")
            ? output.split(separator: "\n") : output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    }

    /// The JSON objects on these lines.
    var objects: [[String: any Sendable]] {
        lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: any Sendable] }
    }
}

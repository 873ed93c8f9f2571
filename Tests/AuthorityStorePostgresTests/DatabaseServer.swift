import Dispatch
import Foundation
import Glibc
import SyncConcurrency
import Testing

/// A PostgreSQL server for one suite. Its data and its socket are in a temporary folder, and it does not listen on TCP.
///
/// It ends with the suite. If the test process dies, the kernel ends it.
final class DatabaseServer: Sendable {
    /// The folder of the programs of an installed version of PostgreSQL; nil if there is none.
    static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.sorted { (Int($0) ?? 0) < (Int($1) ?? 0) }.map { "/usr/lib/postgresql/\($0)/bin" }.last {
            FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
        }
    }()

    /// The server of the suite that runs the current task.
    @TaskLocal static var current: DatabaseServer?

    static var running: DatabaseServer {
        get throws { try #require(current, "the suite lacks the trait .postgres") }
    }

    private let folder: String
    private let programs: String
    private let process = Guarded<Process?>(nil)
    private let schemas = Guarded(0)

    init() throws {
        programs = try #require(Self.programs)
        folder = "/tmp/tombolo-postgres-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // PostgreSQL does not run as root.
        if geteuid() == 0, let user = getpwnam("postgres") { chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) }
        let initdb = try start(
            [
                "\(programs)/initdb", "-D", "\(folder)/data", "-U", "tester", "-A", "trust", "-E", "UTF8", "-N",
                "--locale=C",
            ])
        initdb.waitUntilExit()
        try #require(initdb.terminationStatus == 0, "initdb failed in \(folder)")
        try start()
    }

    /// The connection string of an existing database.
    var connection: String { "host=\(folder) user=tester dbname=postgres" }

    /// Returns the name of a schema that no other test uses.
    func newSchema() -> String {
        schemas.withLock { schemas in
            schemas += 1
            return "test_\(schemas)"
        }
    }

    /// Starts the server, and waits until it accepts connections.
    func start() throws {
        let server = try startOnOwnThread([
            "\(programs)/postgres", "-D", "\(folder)/data", "-k", folder, "-c", "listen_addresses=", "-c",
            "log_min_messages=fatal",
        ])
        process.withLock { $0 = server }
        while server.isRunning {
            let ready = try start(["\(programs)/pg_isready", "-q", "-h", folder, "-U", "tester", "-d", "postgres"])
            ready.waitUntilExit()
            if ready.terminationStatus == 0 { return }
        }
        throw NotReady(
            description: "PostgreSQL ended with \(server.terminationStatus); see \(folder)/log")
    }

    private struct NotReady: Error, CustomStringConvertible {
        let description: String
    }

    /// Stops the server without a clean shutdown, as a crash does. It recovers at the next start.
    func crash() {
        stop(SIGQUIT)
    }

    private func stop(_ signal: Int32) {
        guard
            let server = process.withLock({ process in
                defer { process = nil }
                return process
            })
        else { return }
        kill(server.processIdentifier, signal)
        server.waitUntilExit()
    }

    func remove() {
        stop(SIGINT)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts a process on a thread that ends with the process.
    ///
    /// The kernel sends the death signal when the *thread* that started the process ends, and a thread of a pool ends
    /// when it has been idle for some seconds.
    private func startOnOwnThread(_ words: [String]) throws -> Process {
        let started = Guarded<Result<Process, any Error>?>(nil)
        let isStarted = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            let result = Result { try start(words) }
            started.withLock { $0 = result }
            isStarted.signal()
            if case .success(let process) = result { process.waitUntilExit() }
        }
        isStarted.wait()
        return try #require(started.withLock { $0 }).get()
    }

    private func start(_ words: [String]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        let user = geteuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
        process.arguments = user + ["--pdeathsig", "QUIT"] + words
        let log = "\(folder)/log"
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        try process.run()
        return process
    }
}

/// Starts a PostgreSQL server for a suite, and ends it after the last test.
struct PostgresTrait: SuiteTrait, TestScoping {
    // A suite has one server, which its tests share.
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let server = try DatabaseServer()
        defer { server.remove() }
        try await DatabaseServer.$current.withValue(server) { try await function() }
    }
}

extension Trait where Self == PostgresTrait {
    static var postgres: Self { Self() }
}

extension Trait where Self == ConditionTrait {
    static var needsPostgres: Self {
        .enabled(if: DatabaseServer.programs != nil, "needs the Debian package postgresql")
    }
}

import ArgumentParser
import BenchmarkUsers
import Foundation
import Logging
import SyncAuthority
import SyncModel
import SyncRuntimeLive
import SyncServerHTTP

/// The server of the benchmark, in a separate process so that it does not add to the client's memory and time.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "server", shouldDisplay: false)
    /// The beginning of every token. The rest names the principal, so that each connection can have its own.
    static let token = "the-word-of-the-benchmark"

    @Option var folder: String
    @Option var rows: Int64
    @Option var durability = "normal"

    func run() async throws {
        guard let durability = Durability(rawValue: durability) else {
            throw ValidationError("expected a durability, found \(durability)")
        }
        let authority = try SimulatedWriter.authority(at: folder + "/server.db", durability: durability)
        try SimulatedWriter(authority: authority).create(rows)
        var configuration = SyncServerConfiguration(port: 0)
        // The limits of one client, which stands for many here.
        configuration.requestsPerSecond = 1_000_000
        configuration.bytesPerSecond = .max / 1_000
        configuration.maximumConnectionsPerAddress = configuration.maximumConnections
        let server = SyncServer(
            configuration: configuration, authority: authority, catalog: SimulatedUsers.catalog,
            authenticator: AnyPrincipal(), now: { WallTime.live() },
            logger: Logger(label: "server") { _ in SwiftLogNoOpLogHandler() },
            onRunning: { say("port \($0)") })
        // The process ends when the benchmark closes its end of the pipe.
        let commands = Thread {
            while let line = readLine() {
                do {
                    say(try Self.execute(line, authority))
                } catch {
                    say("failed \(error)")
                }
            }
            Foundation.exit(0)
        }
        commands.start()
        try await server.run()
    }

    /// Carries out a command from standard input, and returns the answer.
    ///
    /// `use` asks for what the process has used, `head` for the newest version, and `cursors` with two numbers for the
    /// cursors between so many pages of so many rows.
    private static func execute(_ line: String, _ authority: Authority) throws -> String {
        switch line {
        case "use": return ProcessUse.now.line
        case "head":
            let heads = try authority.heads(of: [.default], for: Principal(name: "writer"), now: .live())
            return "\(heads.heads[.default] ?? .zero)"
        default:
            let words = line.split(separator: " ")
            guard words.count == 3, words[0] == "cursors", let count = Int(words[1]), let rows = Int(words[2]) else {
                throw BenchmarkError("unknown command: \(line)")
            }
            return try (["cursors"] + cursors(of: count, pagesOf: rows, authority)).joined(separator: " ")
        }
    }

    private static func cursors(of count: Int, pagesOf rows: Int, _ authority: Authority) throws -> [String] {
        var cursors: [Cursor] = []
        while cursors.count < count - 1 {
            let request = PullRequest(space: .default, cursor: cursors.last, limit: rows)
            guard case .page(let page) = try authority.pull(request, by: Principal(name: "writer"), now: .live()),
                page.hasMore
            else { break }
            cursors.append(page.cursor)
        }
        return cursors.map(\.rawValue)
    }
}

/// An authenticator that names a principal after its token. The server listens only on loopback, and only during the
/// benchmark.
private struct AnyPrincipal: Authenticator {
    func principal(bearing token: String) -> Principal? {
        guard token.hasPrefix(ServerCommand.token) else { return nil }
        return Principal(name: "customer\(token.dropFirst(ServerCommand.token.count))")
    }
}

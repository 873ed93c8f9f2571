import ArgumentParser
import AuthorityStoreSQLite
import Foundation
import Logging
import SyncAuthority
import SyncModel
import SyncRuntimeLive
import SyncServerHTTP

/// The server of the benchmark, in a separate process so that it does not add to the client's memory and time.
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "server", shouldDisplay: false)

    @Option var folder: String
    @Option var rows: Int64

    func run() async throws {
        let store = try SQLiteAuthorityStore(
            at: folder + "/server.db", newHistory: BenchmarkHistories().nextHistory(),
            configuration: SQLiteAuthorityConfiguration(durability: .normal))
        let authority = Authority(store: store, catalog: SimulatedUsers.catalog, histories: BenchmarkHistories())
        let writer = SimulatedUser(authority: authority)
        try writer.create(rows)
        let server = SyncServer(
            configuration: SyncServerConfiguration(port: 0), authority: authority, catalog: SimulatedUsers.catalog,
            authenticator: OneUser(), now: { WallTime.live() },
            logger: Logger(label: "server") { _ in SwiftLogNoOpLogHandler() },
            onRunning: { say("port \($0)") })
        // The process ends when the benchmark closes its end of the pipe.
        let commands = Thread {
            while let line = readLine() {
                do {
                    try writer.execute(line)
                    say("done")
                } catch {
                    say("failed \(error)")
                }
            }
            Foundation.exit(0)
        }
        commands.start()
        try await server.run()
    }
}

/// A client that writes the benchmark's records to the server.
private final class SimulatedUser: Sendable {
    private let authority: Authority
    private let principal = Principal(name: "customer")
    private let identity = ClientIdentity(client: ClientID(bits: Identifier128(high: 7, low: 7)), incarnation: 0)

    init(authority: Authority) {
        self.authority = authority
    }

    func create(_ rows: Int64) throws {
        var from: Int64 = 0
        while from < rows {
            let to = min(rows, from + 1_000)
            try push(
                (from..<to).map {
                    Mutation(
                        collection: "user", record: SimulatedUsers.id($0), time: HybridTime(rawValue: UInt64($0)),
                        intent: .create(SimulatedUsers.patch($0)))
                }, number: from / 1_000)
            from = to
        }
    }

    /// Carries out a command from standard input.
    ///
    /// `change COUNT STRIDE NUMBER VERSION` renames COUNT users whose uids are STRIDE apart, in one transaction.
    func execute(_ line: String) throws {
        let words = line.split(separator: " ").dropFirst().compactMap { Int64($0) }
        guard line.hasPrefix("change "), words.count == 4 else { throw BenchmarkError("not an order: \(line)") }
        let (count, stride, number, version) = (words[0], words[1], words[2], words[3])
        try push(
            (0..<count).map { index in
                let edit = FieldEdit(
                    field: "display_name", value: .text("Renamed \(number) \(index)"), before: .null,
                    seen: Version(version))
                return Mutation(
                    collection: "user", record: SimulatedUsers.id(index * stride),
                    time: HybridTime(rawValue: UInt64(1_000_000 + number)), intent: .update([edit]))
            }, number: number)
    }

    private func push(_ mutations: [Mutation], number: Int64) throws {
        let transaction = NumberedTransaction(
            number: TransactionNumber(number), hash: PayloadHash(rawValue: "\(number)"),
            transaction: Transaction(space: .default, mutations: mutations))
        let response = try authority.push(
            PushRequest(
                identity: identity, epoch: nil, acknowledged: TransactionNumber(number), transactions: [transaction]),
            by: principal, now: WallTime.live())
        guard case .answered(let results, _, _) = response, case .applied? = results.first?.outcome else {
            throw BenchmarkError("the server did not take transaction \(number): \(response)")
        }
    }
}

/// An authenticator that accepts a fixed token. The server listens only on loopback, and only during the benchmark.
private struct OneUser: Authenticator {
    func principal(bearing token: String) -> Principal? {
        token == DeviceCommand.token ? Principal(name: "customer") : nil
    }
}

/// A history keeper for a server that is never restored.
private struct BenchmarkHistories: HistoryKeeper {
    func nextHistory() -> HistoryIdentity {
        var random = SystemRandomNumberGenerator()
        return .drawn(from: &random)
    }

    func historyWasLost(_ lost: LostHistory, next: Epoch) {
        say("failed \(lost)")
    }
}

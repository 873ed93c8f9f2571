import ArgumentParser
import BenchmarkUsers
import CRawSQLite
import Foundation
import Logging
import SyncConcurrency
import SyncCore
import SyncModel
import SyncRuntimeLive
import SyncStoreSQLite
import SyncTransportHTTP

/// A device of the benchmark, in a separate process: syncs once, stays connected for a while, and prints the cost.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device", shouldDisplay: false)

    @Option var folder: String
    @Option var port: Int
    @Option var imported: Int64 = 0
    @Option var idleSeconds = 0

    func run() async throws {
        let store = try Self.store(at: folder + "/device.db")
        try importUsers(into: store)
        let transport = try Self.transport(port: port, principal: "")
        let engine = Self.engine(over: store, transport)
        let cpu = raw_cpu_nanoseconds()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            group.addTask { try await engine.run() }
            for await status in engine.status.subscribe() where status.isInSync { break }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let rows = try store.count(matching: RecordQuery("user"))
            say("\(Double(raw_cpu_nanoseconds() - cpu) / 1e9) \(seconds) \(raw_peak_resident_bytes()) \(rows)")
            say(try await idle().line)
            engine.requestStop()
            try await group.waitForAll()
        }
        try await transport.shutdown()
        store.close()
    }

    /// Creates the users that an import would have created, in transactions of the size that an import makes.
    private func importUsers(into store: SQLiteStore) throws {
        for from in stride(from: 0, to: imported, by: 500) {
            _ = try store.commit(
                (from..<min(imported, from + 500)).map {
                    .create("user", SimulatedUsers.id($0), SimulatedUsers.patch($0))
                }, in: .default, now: .live())
            try store.checkpoint()
        }
    }

    private func idle() async throws -> ProcessUse {
        guard idleSeconds > 0 else { return ProcessUse(cpuSeconds: 0, wakeUps: 0, writtenBytes: 0) }
        try await Task.sleep(for: BenchmarkDevice.settling)
        let start = ProcessUse.now
        try await Task.sleep(for: .seconds(idleSeconds))
        return ProcessUse.now - start
    }

    // MARK: The parts of a device

    static func store(at path: String) throws -> SQLiteStore {
        var random = SystemRandomNumberGenerator()
        let store = try SQLiteStore.open(
            StoreConfiguration(file: path), catalog: SimulatedUsers.catalog, now: .live(), random: &random)
        try store.follow(.default)
        return store
    }

    /// - Parameter principal: the end of the principal's name, and of its token.
    static func transport(port: Int, principal: String) throws -> HTTPTransport {
        try HTTPTransport(
            configuration: HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)"),
            catalog: SimulatedUsers.catalog, runtime: .live(), token: { ServerCommand.token + principal })
    }

    static func engine(over store: SQLiteStore, _ transport: HTTPTransport) -> SyncEngine {
        SyncEngine(
            store: store, commands: TransportCommands(transport), reachability: AlwaysUp(), runtime: .live(),
            logger: Logger(label: "device"))
    }
}

/// The reachability of the loopback interface, which is always up.
private struct AlwaysUp: Reachability {
    let current = LinkState.up
    let changes = Broadcast<LinkState>()

    func run() async throws {}
}

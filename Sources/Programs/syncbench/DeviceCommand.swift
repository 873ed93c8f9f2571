import ArgumentParser
import CRawSQLite
import Foundation
import Logging
import SyncConcurrency
import SyncCore
import SyncModel
import SyncRuntimeLive
import SyncStoreSQLite
import SyncTransportHTTP

/// A device of the benchmark, in a separate process: syncs once, and prints the cost.
struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device", shouldDisplay: false)
    static let token = "the-word-of-the-benchmark"

    @Option var folder: String
    @Option var port: Int

    func run() async throws {
        var random = SystemRandomNumberGenerator()
        let store = try SQLiteStore.open(
            StoreConfiguration(file: folder + "/device.db"), catalog: SimulatedUsers.catalog, now: .live(),
            random: &random)
        try store.follow(.default)
        let runtime = EngineRuntime.live()
        let transport = try HTTPTransport(
            configuration: HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)"),
            catalog: SimulatedUsers.catalog,
            runtime: runtime, token: { Self.token })
        let engine = SyncEngine(
            store: store, commands: TransportCommands(transport), reachability: AlwaysUp(), runtime: runtime,
            logger: Logger(label: "device"))
        let cpu = raw_cpu_nanoseconds()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup { group in
            group.addTask { try await engine.run() }
            for await status in engine.status.subscribe() where status.isInSync { break }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            let rows = try store.count(matching: RecordQuery("user"))
            print(Double(raw_cpu_nanoseconds() - cpu) / 1e9, seconds, raw_peak_resident_bytes(), rows)
            engine.requestStop()
            try await group.waitForAll()
        }
        try await transport.shutdown()
        store.close()
    }
}

/// The reachability of the loopback interface, which is always up.
private struct AlwaysUp: Reachability {
    let current = LinkState.up
    let changes = Broadcast<LinkState>()

    func run() async throws {}
}

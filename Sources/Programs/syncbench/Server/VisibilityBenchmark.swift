import BenchmarkUsers
import Foundation
import SyncConcurrency
import SyncCore
import SyncModel
import SyncStoreSQLite
import SyncTransportHTTP
import SyncWire

/// The time from a write's push until others know of it, with 100 listeners over loopback HTTP.
///
/// The listeners, one whole device, and the writer are in this process; the server has its own. The time of a hint and
/// of the device begins before the push is sent, so it contains the commit.
struct VisibilityBenchmark {
    let settings: BenchmarkSettings
    private static let listeners = 100
    private static let writes: Int64 = 50

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() async throws -> [Figure] {
        let server = try BenchmarkServer(folder: try settings.subfolder("server-visibility"), rows: 1_000)
        defer { server.stop() }
        let transports = try (0..<Self.listeners).map {
            try DeviceCommand.transport(port: server.port, principal: "-listener-\($0)")
        }
        let writer = try DeviceCommand.transport(port: server.port, principal: "-writer")
        let deviceTransport = try DeviceCommand.transport(port: server.port, principal: "-device")
        let store = try DeviceCommand.store(at: settings.subfolder("visibility").appending(path: "device.db").path)
        let engine = DeviceCommand.engine(over: store, deviceTransport)
        let arrivals = Arrivals()
        var delays = (hints: [Double](), device: [Double]())
        try await withThrowingTaskGroup { group in
            group.addTask { try await engine.run() }
            group.addTask {
                // The device's own changes: each page that it applies.
                for await _ in store.changes.subscribe() {
                    let version = try store.followedSpaces().first?.version ?? .zero
                    arrivals.note(version, onDevice: true)
                }
            }
            for transport in transports {
                group.addTask {
                    do {
                        for try await hint in transport.hints(for: [.default]) {
                            arrivals.note(hint.head, onDevice: false)
                        }
                    } catch {
                        guard Task.isCancelled else { throw error }
                    }
                }
            }
            for await status in engine.status.subscribe() where status.isInSync { break }
            let head = Version(try server.head())
            try await arrivals.wait(for: Self.listeners, of: head)
            for number in 0..<Self.writes {
                let start = ContinuousClock.now
                let version = try await push(number, over: writer)
                let (hints, device) = try await arrivals.wait(for: Self.listeners, andDeviceOf: version)
                delays.hints += hints.map { ($0 - start) / .milliseconds(1) }
                delays.device.append((device - start) / .milliseconds(1))
            }
            engine.requestStop()
            group.cancelAll()
            try await group.waitForAll()
        }
        for transport in transports + [writer, deviceTransport] { try await transport.shutdown() }
        store.close()
        func figure(_ name: String, _ delay: Double) -> Figure {
            Figure(row: .visibility, name: name, size: "\(Self.listeners) listeners", unit: "ms", ours: delay)
        }
        return [
            figure("from the push of a write to a hint on another device, p50", delays.hints.quantile(0.5)),
            figure("from the push of a write to a hint on another device, p99", delays.hints.quantile(0.99)),
            figure("from the push of a write to the row on another device, p50", delays.device.quantile(0.5)),
            figure("from the push of a write to the row on another device, p99", delays.device.quantile(0.99)),
        ]
    }

    /// Pushes a rename of one user, and returns the version of the commit.
    private func push(_ number: Int64, over transport: HTTPTransport) async throws -> Version {
        let mutation = SimulatedWriter.rename(
            number, to: "Renamed \(number)", at: number, seen: SimulatedWriter.version(of: number))
        let transaction = Transaction(space: .default, mutations: [mutation])
        let response = try await transport.push(
            PushRequest(
                identity: ClientIdentity(
                    client: ClientID(bits: Identifier128(high: 9, low: 9)), incarnation: 0), epoch: nil,
                acknowledged: TransactionNumber(number),
                transactions: [
                    NumberedTransaction(
                        number: TransactionNumber(number), hash: try PayloadHash(of: transaction),
                        transaction: transaction)
                ]))
        guard case .answered(let results, _, _) = response,
            case .applied(let version, _, _)? = results.first?.outcome
        else { throw BenchmarkError("the server did not take a push: \(response)") }
        return version
    }
}

/// When the newest version became known: to the listeners, and to the device.
private final class Arrivals: Sendable {
    private struct State {
        var hints: [Version: [ContinuousClock.Instant]] = [:]
        var device: [Version: ContinuousClock.Instant] = [:]
    }

    private let state = Guarded(State())

    func note(_ version: Version, onDevice: Bool) {
        let now = ContinuousClock.now
        state.withLock { state in
            if onDevice {
                if state.device[version] == nil { state.device[version] = now }
            } else {
                state.hints[version, default: []].append(now)
            }
        }
    }

    func wait(for listeners: Int, of version: Version) async throws {
        _ = try await poll { $0.hints[version, default: []].count >= listeners ? true : nil }
    }

    func wait(
        for listeners: Int, andDeviceOf version: Version
    ) async throws -> (hints: [ContinuousClock.Instant], device: ContinuousClock.Instant) {
        try await poll { state in
            guard let hints = state.hints[version], hints.count >= listeners, let device = state.device[version] else {
                return nil
            }
            return (hints, device)
        }
    }

    /// Returns the result of `find`, or throws after a minute without one.
    private func poll<Result: Sendable>(_ find: @Sendable (State) -> Result?) async throws -> Result {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if let result = state.withLock({ find($0) }) { return result }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw BenchmarkError("a hint did not arrive at every listener")
    }
}

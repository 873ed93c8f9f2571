import Logging
import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing
import TomboloCommunity
import TomboloModeling

@Suite(.ring(.unit)) struct CommandProviderTests {
    @Test func `the engine executes each command that its provider makes, once`() throws {
        try withEngine { simulation, _, id, commands in
            try simulation.advance(by: .seconds(5))
            #expect(Set(commands.executed.map(\.call)) == [.hello, .push, .pull])
            #expect(commands.executed == commands.made)
            let pushed = commands.executed.compactMap { if case .push(let request) = $0 { request } else { nil } }
            #expect(pushed.flatMap(\.transactions).flatMap(\.transaction.mutations).map(\.record) == [id])
        }
    }

    @Test func `the engine asks the server when another process requests a sync`() throws {
        try withEngine { simulation, store, _, commands in
            try simulation.advance(by: .seconds(5))
            let before = commands.executed.count
            // The time is too short for a poll.
            try simulation.advance(by: .milliseconds(10))
            #expect(commands.executed.count == before)
            store.changes.publish(StoreChange(requestsSync: true))
            try simulation.advance(by: .milliseconds(10))
            #expect(commands.executed.dropFirst(before).map(\.call).contains(.pull))
        }
    }

    /// Runs an engine on a store with one unsent record while `body` is called.
    private func withEngine(_ body: (Simulation, SQLiteStore, RecordID, RecordingCommands) throws -> Void) throws {
        let simulation = Simulation(seed: 1)
        let runtime = simulation.makeRuntime(
            device: "phone", clockOf: "phone", wallClock: simulation.makeWallClock())
        let process = SimulatedDisk(seed: 1).makeProcess()
        defer { process.kill() }
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = process.vfsName
        configuration.connections = .single
        var random = runtime.generator
        let store = try SQLiteStore.open(
            configuration, catalog: CommunityCatalog.catalog, now: runtime.now(), random: &random)
        try store.follow(.default)
        let id = RecordID.make(at: runtime.now(), random: &random)
        _ = try store.commit([.create("user", id, ["username": .text("ned")])], in: .default, now: runtime.now())

        let commands = RecordingCommands()
        let engine = SyncEngine(
            store: store, commands: commands, reachability: SimulatedReachability(), runtime: runtime,
            logger: Logger(label: "phone", factory: { _ in SwiftLogNoOpLogHandler() }))
        let run = simulation.start("phone") { await #expect(throws: Never.self) { try await engine.run() } }
        try body(simulation, store, id, commands)
        run.cancel()
        try simulation.finish()
    }
}

/// Creates commands that record their execution and return fixed responses, without a server or a transport.
private final class RecordingCommands: CommandProvider {
    private struct State: Sendable {
        var made: [ServerRequest] = []
        var executed: [ServerRequest] = []
    }

    private let state = Guarded(State())
    private let epoch = Epoch(rawValue: "recorded")

    var made: [ServerRequest] { state.withLock { $0.made } }
    var executed: [ServerRequest] { state.withLock { $0.executed } }

    private func command<Response>(_ request: ServerRequest, _ response: Response) -> ServerCommand<Response> {
        state.withLock { $0.made.append(request) }
        return ServerCommand { [state] () async throws(TransportError) in
            state.withLock { $0.executed.append(request) }
            return response
        }
    }

    func hello() -> ServerCommand<ServerHello> {
        command(
            .hello,
            ServerHello(
                protocolVersions: ProtocolVersion.current...ProtocolVersion.current, epoch: epoch,
                account: AccountID(rawValue: "ned"), serverTime: .zero,
                limits: ServerLimits(pushBytes: 1_000_000, pushTransactions: 100, pageRows: 100)))
    }

    func push(_ request: PushRequest) -> ServerCommand<PushResponse> {
        let rejection = Rejection(code: .forbidden, message: "recorded", mutation: nil)
        let results = request.transactions.map {
            TransactionResult(number: $0.number, outcome: .rejected(rejection))
        }
        return command(.push(request), .answered(results, epoch: epoch, serverTime: .zero))
    }

    func pull(_ request: PullRequest) -> ServerCommand<PullResponse> {
        command(
            .pull(request),
            .page(
                PullPage(
                    space: request.space, epoch: epoch, serverTime: .zero,
                    content: .snapshot([], isFirst: true, isLast: true), cursor: Cursor(rawValue: "end"),
                    version: .zero, head: .zero, hasMore: false)))
    }

    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        AsyncThrowingStream { nil }
    }
}

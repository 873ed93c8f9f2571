import AuthorityStoreSQLite
import Foundation
import Logging
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncStoreSQLite
import SyncTestKit
import SyncWire
import Testing
import TomboloCommunity
import TomboloModeling

/// A real authority on SQLite, called in process through the wire codec.
final class LiveServer: Sendable {
    let transport: InProcessTransport

    init() throws {
        let store = try SQLiteAuthorityStore(
            singleConnectionTo: ":memory:", newHistory: .fixed(Epoch(rawValue: "first-epoch")))
        transport = InProcessTransport(
            authority: Authority(store: store, catalog: CommunityCatalog.catalog), catalog: CommunityCatalog.catalog,
            principal: Principal(name: "ned"), now: EngineRuntime.live.now)
    }

    /// A new community that reads from the server and writes to it directly, without a local store.
    var community: Community {
        .remote(transport: transport, runtime: .live) { try PayloadHash(of: $0) }
    }
}

/// A device with a local store on SQLite, and the real engine that keeps it in sync.
final class LiveDevice: Sendable {
    let community: Community
    let store: SQLiteStore
    private let run: Task<Void, Never>

    init(_ server: LiveServer) throws {
        let folder = try ScratchFolder()
        store = try folder.open(.live)
        // The engine syncs every space that is in the store.
        try store.follow(.default)
        let engine = SyncEngine(
            store: store, commands: TransportCommands(server.transport), reachability: AlwaysUp(), runtime: .live,
            logger: Logger(label: "models.tests", factory: { _ in SwiftLogNoOpLogHandler() }))
        run = EngineRuntime.live.spawn {
            await #expect(throws: Never.self) { try await engine.run() }
            // The folder must exist until the engine stops writing to it.
            withExtendedLifetime(folder) {}
        }
        community = .synced(store: store, runtime: .live)
    }

    deinit {
        run.cancel()
    }
}

private final class AlwaysUp: Reachability {
    let current = LinkState.up
    let changes = Broadcast<LinkState>()
    func run() async {}
}

extension EngineRuntime {
    /// A runtime with the machine's clock and random numbers. The engine's waits are real, but short.
    static let live: EngineRuntime = {
        let clock = ContinuousClock()
        let start = clock.now
        return EngineRuntime(
            clock: clock,
            now: { WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) },
            uptime: { start.duration(to: clock.now) },
            random: { UInt64.random(in: .min ... .max) })
    }()
}

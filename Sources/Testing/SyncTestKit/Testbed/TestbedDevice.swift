import Logging
import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncObjects
public import SyncSimulation
import SyncStoreSQLite
public import TomboloCommunity
import TomboloModeling

/// A device of a `SyncTestbed`, with its store, its engine, its link, and its route to the server.
public final class TestbedDevice: ModelAccess {
    /// The name of the device in traces.
    public let name: String
    /// The server as this device sees it. Script it to change the responses to this device.
    public let server: MockServer
    /// The transport to the server. Set its faults to disturb this device's calls.
    public let network: FaultyTransport
    /// The device's wall clock, which follows virtual time until a test makes it jump or drift. The server has another
    /// clock.
    public let wallClock: VirtualWallClock
    private let simulation: Simulation
    /// The models of the application on this device.
    private let catalog: SchemaCatalog
    private let models: ModelCatalog
    private let policy: SyncPolicy
    private let spaces: [SpaceID]
    private let disk: SimulatedDisk
    private let link = SimulatedReachability()
    private let state = Guarded(State())

    /// One run of the application's process.
    private struct Life: Sendable {
        let process: DiskProcess
        let store: SQLiteStore
        let engine: SyncEngine
        let runtime: EngineRuntime
        let objects: LiveObjects
        let task: Task<Void, Never>
    }

    private struct State: Sendable {
        var life: Life?
        /// The run that has ended last, whose objects and store throw errors.
        var ended: Life?
        var lives = 0
    }

    init(
        name: String, account: String, simulation: Simulation, catalog: SchemaCatalog, models: ModelCatalog,
        policy: SyncPolicy, authority: Authority, serverCatalog: SchemaCatalog, review: (any TransactionReview)?,
        spaces: Set<SpaceID>
    ) {
        self.name = name
        self.simulation = simulation
        self.catalog = catalog
        self.models = models
        self.policy = policy
        self.spaces = spaces.sorted { $0.rawValue < $1.rawValue }
        wallClock = simulation.makeWallClock()
        var noise = simulation.random("disk.\(name)")
        disk = SimulatedDisk(seed: noise.next())
        let serverClock = simulation.makeWallClock()
        let clock = simulation.clock(of: name)
        let wait: @Sendable (Duration) async throws -> Void = { try await clock.sleep(for: $0) }
        server = MockServer(
            authority: authority, catalog: serverCatalog, clientCatalog: catalog, principal: Principal(name: account),
            now: { serverClock.now }, wait: wait, review: review)
        network = FaultyTransport(server, random: simulation.random("network.\(name)"), wait: wait)
    }

    // MARK: Process

    /// Starts the application's process, unless it is already running.
    public func start() throws(StoreError) {
        guard state.withLock({ $0.life == nil }) else { return }
        let number = state.withLock { state in
            state.lives += 1
            return state.lives
        }
        let runtime = simulation.makeRuntime(device: "\(name).\(number)", clockOf: name, wallClock: wallClock)
        let process = disk.makeProcess()
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = process.vfsName
        configuration.connections = .single
        var random = runtime.generator
        let store = try SQLiteStore.open(configuration, catalog: catalog, now: runtime.now(), random: &random)
        for space in spaces { try store.follow(space) }
        let engine = SyncEngine(
            store: store, commands: TransportCommands(network), reachability: link, runtime: runtime, policy: policy,
            logger: Logger(label: name, factory: { _ in SwiftLogNoOpLogHandler() }))
        let objects = LiveObjects(
            source: StoredSource(store: store, server: .synced), models: models, runtime: runtime)
        let task = simulation.start(name) { [simulation, name] in
            do {
                try await engine.run()
            } catch {
                simulation.note("the engine has failed: \(error)", by: name)
            }
        }
        state.withLock { state in
            state.life = Life(
                process: process, store: store, engine: engine, runtime: runtime, objects: objects, task: task)
        }
    }

    /// Kills the application's process as SIGKILL does. Durable data is there when the process starts again.
    ///
    /// The objects of the process have ended with it: reading and saving them throws an error, also after `start()`.
    /// Fetch them again from the device then.
    public func stop() {
        let life = state.withLock { state in
            if let life = state.life { state.ended = life }
            defer { state.life = nil }
            return state.life
        }
        guard let life else { return }
        life.process.kill()
        life.task.cancel()
        life.objects.end()
        life.store.close()
    }

    /// Whether the device has a network link. Without a link, none of its requests reaches the server.
    public var isOnline: Bool {
        get { !network.isDown }
        set {
            network.isDown = !newValue
            link.set(newValue ? .up : .down("the test has taken it away"))
        }
    }

    var isConnected: Bool { isOnline && isOn }

    /// Whether the application's process runs.
    var isOn: Bool { state.withLock { $0.life != nil } }

    // MARK: Contents

    private var life: Life {
        guard let life = state.withLock({ $0.life ?? $0.ended }) else {
            preconditionFailure("a testbed starts each device that it returns")
        }
        return life
    }

    /// The local store. While the device is off, its calls throw an error.
    public var store: any LocalStore & EngineStore { life.store }

    /// The live objects, one per record. They belong to one run of the process. While the device is off, its calls
    /// throw an error.
    public var objects: LiveObjects { life.objects }

    /// The community's models on this device. The device must be on.
    ///
    /// - Throws: `invalidModel` when the device was made without the community's models.
    public var community: Community {
        get throws(ModelError) { try Community(self) }
    }

    /// The clock and the random numbers of this device. The device must be on.
    public var runtime: EngineRuntime { life.runtime }

    /// The engine's status; nil when the device is off.
    public var status: SyncStatus? { state.withLock { $0.life?.engine }?.currentStatus }

    /// Requests a push and a pull now.
    public func syncNow() {
        state.withLock { $0.life?.engine }?.syncNow()
    }

    // MARK: Spaces

    /// The spaces that this device keeps in sync, sorted by name. The device must be on.
    public var followedSpaces: [SpaceID] {
        get throws(ModelError) {
            do throws(StoreError) { return try store.followedSpaces().map(\.space) } catch { throw ModelError(error) }
        }
    }

    /// Keeps a space in sync from now on, as a client's `follow` does. The device must be on.
    public func follow(_ space: SpaceID) throws(ModelError) {
        do throws(StoreError) { try store.follow(space) } catch { throw ModelError(error) }
    }

    /// Removes a space from this device, as a client's `unfollow` does. The device must be on. At each start, the
    /// device follows the spaces that it was created with, even if they were unfollowed.
    public func unfollow(_ space: SpaceID) throws(ModelError) {
        do throws(StoreError) { _ = try store.unfollow(space) } catch { throw ModelError(error) }
    }

    // MARK: Leftovers

    /// A description of the device's state for failure messages.
    var situation: String {
        guard let status else { return "it is off" }
        var parts = [status.connection.words]
        if status.outbox.count > 0 { parts.append("\(status.outbox.count) transactions are not confirmed") }
        if let obstacle = status.push.obstacle { parts.append("a push waits: \(obstacle)") }
        for space in status.spaces where !space.isInSync {
            var words = "space \(space.space) is at version \(space.version) of \(space.head)"
            if let obstacle = space.pull.obstacle { words += ": \(obstacle)" }
            if case .braked(let deletes, let total) = space.pull {
                words += ": the server would delete \(deletes) of \(total) records, and a person has to agree"
            }
            parts.append(words)
        }
        return parts.joined(separator: "; ")
    }

    /// Descriptions of the work that is left: script steps not taken, transactions not confirmed, active journal
    /// entries.
    var leftovers: [String] {
        var left: [String] = []
        if server.remainingSteps > 0 { left.append("\(name): the script has \(server.remainingSteps) steps left") }
        guard let store = state.withLock({ $0.life?.store }) else { return left }
        do {
            let outbox = try store.outboxSummary()
            if outbox.count > 0 { left.append("\(name): \(outbox.count) transactions are not confirmed") }
            let active = try store.journal(state: .active, limit: 10)
            for entry in active { left.append("\(name): the journal has \(entry.event.words)") }
        } catch {
            left.append("\(name): the store cannot be read: \(error)")
        }
        return left
    }
}

extension SyncStatus.Connection {
    fileprivate var words: String {
        switch self {
        case .notRunning: "not started"
        case .offline(let reason): "no network: \(reason)"
        case .connecting: "waiting for the response to a hello"
        case .online: "online"
        case .waiting(let failure, _), .recovering(let failure, _): "trying again: \(failure.message)"
        case .paused(let failure, _): "paused: \(failure.message)"
        case .storeFailed(let failure, _): "the local store failed: \(failure.message)"
        case .refused(let failure): "refused: \(failure.message)"
        case .stopped: "stopped"
        }
    }
}

extension JournalEntry.Event {
    fileprivate var words: String {
        switch self {
        case .rejected(let transaction, let rejection):
            "a rejected transaction (\(rejection.code.rawValue): \(rejection.message)): \(Self.words(transaction))"
        case .merged(let conflicts): "a merge: \(Self.words(conflicts))"
        case .overwritten(let conflicts, let deleted):
            "overwritten values: \(Self.words(conflicts))\(deleted.map { " deleted: \(Self.words($0))" } ?? "")"
        case .noticesRemoved: "notices about overwritten values that the server has removed"
        case .cancelled(let transaction): "a cancelled transaction: \(Self.words(transaction))"
        case .lost(let transaction): "a transaction that the server has lost: \(Self.words(transaction))"
        }
    }

    private static func words(_ transaction: Transaction) -> String {
        transaction.mutations.map { "\(AttemptedChange($0))" }.joined(separator: "; ")
    }

    private static func words(_ conflicts: [FieldConflict]) -> String {
        conflicts.map { conflict in
            let (lost, kept) = (conflict.loser.value.shortText, conflict.winner.value.shortText)
            return "\(conflict.collection).\(conflict.field) \(lost) gave way to \(kept)"
        }.joined(separator: "; ")
    }
}

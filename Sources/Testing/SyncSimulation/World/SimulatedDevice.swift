import Logging
import SyncAuthority
import SyncConcurrency
public import SyncCore
import SyncModel

/// A device with its disk, its clocks, its network link, and the application's process, which can die and restart.
public final class SimulatedDevice: Sendable {
    public typealias Store = any LocalStore & EngineStore

    public let name: String
    private let initialStorage: DeviceStorage
    /// Whether the device's monotonic clock stops while the device is suspended.
    let pausesClock: Bool
    /// Whether the server may run an earlier build that does not know all the models that the device writes.
    ///
    /// Later transactions may then overtake those that are held back.
    private let mayOvertake: Bool
    public let disk: SimulatedDisk
    public let wallClock: VirtualWallClock
    public let reachability = SimulatedReachability()
    private let simulation: Simulation
    private let policy: SyncPolicy
    private let open: Opening
    private let connect: Connect
    private let wrap: @Sendable (any RemoteTransport, EngineRuntime) -> any RemoteTransport
    private let observer: any DeviceObserver
    private let tally: FaultTally
    private let lostHistory: LostHistoryOracle
    private let brakes: BrakeOracle
    private let journals: JournalOracle
    private let statuses: StatusOracle
    private let recorder: Recorder?
    private let state: Guarded<State>

    /// Opens the local store of a process on its disk.
    typealias Opening = @Sendable (DiskProcess, EngineRuntime, DeviceStorage) throws -> Store

    /// Makes the transport of a process from its name, its build, the owner of the database, and the user who is logged
    /// in.
    ///
    /// Each request carries the token of the user who is logged in at that time.
    typealias Connect =
        @Sendable (String, WorldBuild, Principal, @escaping @Sendable () -> Principal) -> SimulatedTransport

    /// Makes the flight recorder of a process over its store.
    package typealias Recorder = @Sendable (Store, EngineRuntime) -> (any FlightRecorder)?

    /// One run of the application's process.
    private struct Life: Sendable {
        let number: Int
        let process: DiskProcess
        let store: Store
        let engine: SyncEngine
        let transport: SimulatedTransport
        let task: Task<Void, Never>

        func end() {
            process.kill()
            transport.sever()
            task.cancel()
        }
    }

    private struct State: Sendable {
        var life: Life?
        /// The owner of the device's database.
        var owner: Principal
        /// The user who is logged in instead of the owner; nil when the owner is logged in.
        var guest: Principal?
        /// A second process on the same database; nil when there is none.
        var rival: Life?
        /// The build of the application that the next process will have.
        var build: WorldBuild
        var lives = 0
        /// The reason why the engine of the current process has ended, whether or not it was asked to stop; nil while
        /// it runs.
        var engineEnd: String?
        /// The time when the current engine was asked to stop, or when the device last woke up after that; nil when the
        /// engine was not asked to stop.
        var stopping: Duration?
        /// The number of events after which the versions of all spaces may go back: starts, new identities, and new
        /// histories.
        var setbacks = 0
        /// The number of events after which the version of one space may go back: cursor resets, losses of
        /// access, and spaces that the user has stopped following.
        var resets: [SpaceID: Int] = [:]
    }

    /// - Parameters:
    ///   - storage: the settings of the store. Its build is the one that the device starts with.
    ///   - diskSeed: is combined with the device's own seed of the disk.
    ///   - open: opens the store. Called at each start of a process.
    ///   - connect: makes the transport of a process.
    ///   - wrap: wraps the engine's transport, for tests that intercept its calls.
    ///   - observer: observes the changes that the engine makes in the store.
    ///   - brakes: checks that no snapshot deletes a large part of the records without the user's consent.
    init(
        name: String, simulation: Simulation, policy: SyncPolicy, storage: DeviceStorage, diskSeed: UInt64,
        pausesClock: Bool, mayOvertake: Bool, observer: any DeviceObserver, tally: FaultTally,
        lostHistory: LostHistoryOracle, brakes: BrakeOracle, journals: JournalOracle, statuses: StatusOracle,
        open: @escaping Opening, connect: @escaping Connect,
        wrap: @escaping @Sendable (any RemoteTransport, EngineRuntime) -> any RemoteTransport,
        recorder: Recorder?
    ) {
        self.recorder = recorder
        self.name = name
        initialStorage = storage
        self.pausesClock = pausesClock
        self.mayOvertake = mayOvertake
        state = Guarded(State(owner: Principal(name: name), build: storage.build))
        self.simulation = simulation
        self.policy = policy
        self.observer = observer
        self.tally = tally
        self.lostHistory = lostHistory
        self.brakes = brakes
        self.journals = journals
        self.statuses = statuses
        self.open = open
        self.connect = connect
        self.wrap = wrap
        var random = simulation.random("disk.\(name)")
        disk = SimulatedDisk(seed: random.next() ^ diskSeed)
        wallClock = simulation.makeWallClock()
    }

    /// The number of the running process, or of the last one.
    var life: Int { state.withLock { $0.life?.number ?? $0.lives } }

    public var isUp: Bool { state.withLock { $0.life != nil } }

    /// The store of the running process; nil when none is running.
    public var store: Store? { state.withLock { $0.life?.store } }

    /// The running process; nil when none is running.
    var process: DiskProcess? { state.withLock { $0.life?.process } }

    /// The settings of the store, with the build that the next process will have.
    var storage: DeviceStorage {
        var storage = initialStorage
        storage.build = build
        return storage
    }

    /// The build that the next process will have.
    var build: WorldBuild {
        get { state.withLock { $0.build } }
        set { state.withLock { $0.build = newValue } }
    }

    /// The owner of the device's database. A new owner takes effect at the next start of a process.
    ///
    /// The owner is initially a user with the device's name. Setting the owner logs out a guest.
    var owner: Principal {
        get { state.withLock { $0.owner } }
        set {
            state.withLock { state in
                state.owner = newValue
                state.guest = nil
            }
        }
    }

    /// Logs in a guest, whose token is sent with all requests from now on.
    func changeUser() {
        state.withLock { $0.guest = Principal(name: "guest") }
        simulation.note("is used by someone else", by: name, as: .fault)
    }

    /// Logs out the guest.
    func changeUserBack() {
        state.withLock { $0.guest = nil }
    }

    public var status: SyncStatus? { state.withLock { $0.life?.engine }?.currentStatus }

    /// The reason why the engine has ended, whether or not it was asked to stop; nil while it runs.
    public var engineEnd: String? { state.withLock { $0.engineEnd } }

    /// Whether no engine is running, or only one that was asked to stop.
    var needsStart: Bool { state.withLock { $0.life == nil || $0.engineEnd != nil || $0.stopping != nil } }

    /// Returns the number of events so far after which the version of a space may have gone back.
    func setbackCount(of space: SpaceID) -> Int {
        state.withLock { $0.setbacks + $0.resets[space, default: 0] }
    }

    /// Records that the user may have stopped following a space, whose version then goes back.
    func noteUnfollowed(_ space: SpaceID) {
        state.withLock { $0.resets[space, default: 0] += 1 }
    }

    /// Starts the application's process: opens the store and runs the engine. A running process is killed first.
    ///
    /// - Throws: Any error from opening the store.
    public func start() throws {
        kill()
        brakes.reset(name)
        let life = try makeLife(suffix: nil)
        state.withLock { state in
            state.life = life
            state.engineEnd = nil
            state.stopping = nil
        }
        simulation.note("up", by: name, as: .up)
    }

    private func makeLife(suffix: String?) throws -> Life {
        let life = state.withLock { state in
            state.lives += 1
            return state.lives
        }
        let isRival = suffix != nil
        let storage = storage
        let process = disk.makeProcess()
        let runtime = simulation.makeRuntime(device: "\(name).\(life)", clockOf: name, wallClock: wallClock)
        let opened: Store
        let store: Store
        do {
            opened = try tally.watch(.opening, on: disk) { try open(process, runtime, storage) }
            store = WatchedStore(
                device: name, store: opened, disk: disk, tally: tally, lostHistory: lostHistory, brakes: brakes,
                journals: journals, observer: observer)
        } catch {
            process.kill()
            simulation.note("does not start: \(error)", by: name, as: .fault)
            throw error
        }
        let owner = owner
        let transport = connect(suffix.map { "\(name).\($0)" } ?? name, storage.build, owner) { [state] in
            state.withLock { $0.guest } ?? owner
        }
        let engine = SyncEngine(
            store: store, commands: TransportCommands(wrap(transport, runtime)), reachability: reachability,
            runtime: runtime,
            policy: policy, logger: Logger(label: name, factory: { _ in SwiftLogNoOpLogHandler() }),
            // Only the first process records, because a recorder's ring holds the turns of one engine.
            recorder: isRival ? nil : recorder?(opened, runtime),
            trace: { [weak self, statuses, name] turn in
                if !isRival { statuses.handled(turn.event, by: name, life: life) }
                self?.note(turn, opened, process)
            })
        let task = simulation.start(name) { [weak self] in
            var engineEnd = "the engine has ended"
            do {
                try await engine.run()
            } catch {
                engineEnd = "the engine has failed: \(error)"
            }
            if !isRival, !process.isDead, !Task.isCancelled { self?.ended(engineEnd, life: life) }
        }
        return Life(
            number: life, process: process, store: store, engine: engine, transport: transport, task: task)
    }

    private func ended(_ reason: String, life: Int) {
        simulation.note(reason, by: name, as: .fault)
        state.withLock { state in if state.life?.number == life { state.engineEnd = reason } }
    }

    private func note(_ turn: SyncEngine.HandledEvent, _ store: Store, _ process: DiskProcess) {
        simulation.note("\(turn.event)", by: name, as: turn.kind)
        if case .store(.batchTaken(let batch)) = turn.event {
            do {
                let numbered = try disk.withoutFaults { try numberedEntries(of: store) }
                observer.batchTaken(batch, by: name, among: numbered)
            } catch {
                // The process may have died in an earlier call.
                if !process.isDead { observer.storeReadFailed(error, on: name) }
            }
        }
        switch turn.event {
        // The previous process may have died after the change was durable but before its engine reported it.
        case .host(.started(let session, _)), .store(.sessionChanged(let session)):
            observer.sessionChanged(session, of: name)
            state.withLock { $0.setbacks += 1 }
        case .store(.cursorReset(let space)): state.withLock { $0.resets[space, default: 0] += 1 }
        case .store(.spaceVacated(let space, .vacated)): state.withLock { $0.resets[space, default: 0] += 1 }
        case .server(.pushEnded(_, .success(.refused(let refusal)))): observer.pushRefused(refusal, of: name)
        case .store(.failed(.space(_, .applyingPage), let failure)): observer.pageRefused(failure, by: name)
        case .host, .device, .server, .store: break
        }
    }

    /// Returns the outbox from its oldest entry to the last one that may have a number.
    ///
    /// When the server may not know all models, returns the whole outbox: entries that are held back may precede
    /// entries that have numbers.
    private func numberedEntries(of store: Store) throws -> [OutboxEntry] {
        var entries: [OutboxEntry] = []
        while true {
            let part = try store.outbox(after: entries.last?.sequence, limit: SimulationLimits.outboxPart)
            entries += part
            guard !part.isEmpty, mayOvertake || part.contains(where: { $0.state != .waiting }) else { return entries }
        }
    }

    /// Kills the process, and the second process if there is one, as SIGKILL does. Their remaining tasks can reach
    /// neither the disk nor the network.
    public func kill() {
        let life = state.withLock { state in
            defer { state.life = nil }
            return state.life
        }
        endRival()
        guard let life else { return }
        life.end()
        simulation.note("killed", by: name, as: .down)
    }

    /// Kills what remains of each process that a disk fault has ended.
    func endIfDead() {
        if state.withLock({ $0.life?.process })?.isDead == true { kill() }
        if state.withLock({ $0.rival?.process })?.isDead == true { endRival() }
    }

    /// Cuts the power: the process ends, and only a part of the unsynced data stays on the disk.
    ///
    /// - Parameter seed: Selects the part that stays.
    public func losePower(seed: UInt64) {
        simulation.mark("loses power", by: name, as: .fault)
        disk.losePower(seed: seed)
        kill()
    }

    /// Asks the engine to stop. The process keeps running, and its store stays open.
    func stop() {
        simulation.note("is asked to stop", by: name, as: .fault)
        let engine = state.withLock { state in
            state.stopping = state.stopping ?? simulation.now
            return state.life?.engine
        }
        engine?.requestStop()
    }

    /// Restarts `timeSinceStop` when the device wakes up, because an engine cannot stop while its device is suspended.
    func wokeUp() {
        state.withLock { state in
            if state.stopping != nil { state.stopping = simulation.now }
        }
    }

    /// The time since the engine was asked to stop, or since the device last woke up after that; nil when the engine
    /// was not asked to stop, or has ended.
    var timeSinceStop: Duration? {
        state.withLock { state in state.engineEnd == nil ? state.stopping.map { simulation.now - $0 } : nil }
    }

    /// Notifies the engines that the device has a new token.
    func renewCredentials() {
        state.withLock { [$0.life?.engine, $0.rival?.engine] }.forEach { $0?.credentialsChanged() }
    }

    /// Starts a second process with its own engine on the same database, beside the running one.
    func startRival() throws {
        endRival()
        guard isUp else { return }
        let life = try makeLife(suffix: "rival")
        state.withLock { $0.rival = life }
    }

    func endRival() {
        let rival = state.withLock { state in
            defer { state.rival = nil }
            return state.rival
        }
        rival?.end()
    }

    /// Lets the user agree to the deletions that the mass-delete brake has stopped, if there are any.
    func allowDeletes() {
        guard let engine = state.withLock({ $0.life?.engine }) else { return }
        for status in engine.currentStatus.spaces {
            guard case .braked = status.pull else { continue }
            simulation.note("its user agrees to deletions in \(status.space)", by: name)
            brakes.agrees(name, in: status.space)
            engine.allowDeletes(in: status.space)
        }
    }

    /// Returns the contents of the device's disk, read from a copy of it.
    func holdings() -> Holdings {
        var holdings = Holdings(isUp: isUp)
        guard !disk.fileNames.isEmpty else {
            holdings.add("disk", "empty")
            return holdings
        }
        do {
            try withCopy { try holdings.read($0) }
        } catch {
            holdings.add("not readable", "\(error)")
        }
        return holdings
    }

    /// Calls `body` with the store of a copy of the device's disk. Returns nil when the disk is empty, the copy cannot
    /// be opened, or `body` throws.
    func readCopy<Result>(_ body: (Store) throws -> Result) -> Result? {
        disk.fileNames.isEmpty ? nil : try? withCopy(body)
    }

    /// Calls `body` with the store of a copy of the device's disk.
    private func withCopy<Result>(_ body: (Store) throws -> Result) throws -> Result {
        let copy = SimulatedDisk(seed: 0)
        copy.restore(disk.image())
        let process = copy.makeProcess()
        defer { process.kill() }
        let runtime = EngineRuntime(
            clock: simulation.clock(of: "recording"), now: { [wallClock] in wallClock.now }, uptime: { .zero },
            random: { [numbers = Guarded(simulation.random("recording"))] in numbers.withLock { $0.next() } })
        return try body(open(process, runtime, storage))
    }

    public func syncNow() {
        state.withLock { $0.life?.engine }?.syncNow()
    }
}

/// An observer of the changes that a device's engine makes in its store.
protocol DeviceObserver: Sendable {
    /// - Parameter numbered: the oldest entries of the outbox, including every entry that has a number.
    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry])
    /// Reports that the store of a running process cannot be read although its disk works.
    func storeReadFailed(_ error: any Error, on device: String)
    /// Reports the session of an engine at its start, and after the store has given the engine a new identity or a new
    /// history.
    func sessionChanged(_ session: StoredSession, of device: String)
    func pushRefused(_ refusal: PushRefusal, of device: String)
    /// Reports a checkpoint that flushed the WAL to disk. All earlier commits now survive a loss of power.
    func walFlushed(of device: String)
    /// Reports that the store could not apply a page.
    func pageRefused(_ failure: StoreError, by device: String)
}

extension SyncEngine.HandledEvent {
    fileprivate var kind: EventKind {
        switch event {
        case .store(.pageApplied(_, .applied)): .page
        case .store(.pageApplied(_, .braked)), .store(.failed): .fault
        case .host, .device, .server, .store: .note
        }
    }
}

public import Logging
public import SyncConcurrency
public import SyncModel

/// Keeps a local store and a server in sync, in the background.
///
/// The session machine makes all decisions about the sync. The actor passes events to it, carries out the actions that
/// come back, and feeds their results in as events. The host calls `run()` once, in its own task. For
/// swift-service-lifecycle, wrap the engine in a `Service`.
public actor SyncEngine {
    let store: any EngineStore & LocalStore
    /// Provides the commands that send requests. Only the provider knows the transport.
    let commands: any CommandProvider
    private let reachability: any Reachability
    let runtime: EngineRuntime
    private let policy: SyncPolicy
    let logger: Logger
    private let trace: (@Sendable (HandledEvent) -> Void)?
    private var recorder: (any FlightRecorder)?
    private var pendingSave: Task<Void, Never>?

    private var session = SessionMachine()
    var tasks: [Serial: Task<Void, Never>] = [:]
    nonisolated let mailbox = EngineMailbox()
    private var events: EngineMailbox.Events?
    /// The contact with the server, which is part of the status. The store has a copy.
    var contact = ServerContact()
    private nonisolated let lastStatus: Guarded<SyncStatus>
    /// The number of calls of `syncNow()`.
    private nonisolated let requests = Guarded(0)
    /// The number of these calls that were made before the last request for a sync was handled.
    private var handledRequests = 0
    /// For each space, the value of `handledRequests` when its pull last rested. A request for a sync begins a pull at
    /// once, so the next rest follows a complete pull.
    private var answeredRequests: [SpaceID: Int] = [:]

    /// Publishes each change of the status.
    public nonisolated let status = Broadcast<SyncStatus>()

    /// An event and the actions that followed from it, for the simulation and tests. A recorder gets a `SessionTurn`.
    package struct HandledEvent: Sendable {
        package let at: Duration
        package let event: SyncEvent
        package let actions: [SyncAction]
    }

    /// Creates an engine, which does nothing until `run()` is called.
    ///
    /// - Parameter store: A store that already holds the spaces to keep in sync.
    public init(
        store: any EngineStore & LocalStore, commands: any CommandProvider, reachability: any Reachability,
        runtime: EngineRuntime, policy: SyncPolicy = SyncPolicy(), logger: Logger
    ) {
        self.init(
            store: store, commands: commands, reachability: reachability, runtime: runtime, policy: policy,
            logger: logger, recorder: nil, trace: nil)
    }

    /// - Parameters:
    ///   - recorder: Keeps the last turns; nil keeps none and costs nothing.
    ///   - trace: Called with each turn, on the actor.
    package init(
        store: any EngineStore & LocalStore, commands: any CommandProvider, reachability: any Reachability,
        runtime: EngineRuntime, policy: SyncPolicy, logger: Logger, recorder: (any FlightRecorder)? = nil,
        trace: (@Sendable (HandledEvent) -> Void)? = nil
    ) {
        self.store = store
        self.commands = commands
        self.reachability = reachability
        self.runtime = runtime
        self.policy = policy
        self.logger = logger
        self.recorder = recorder
        self.trace = trace
        lastStatus = Guarded(SessionMachine().status(now: .zero))
        events = mailbox.events()
        executor = ActorExecutor(runtime)
    }

    // MARK: Host interface: safe from any thread, never blocks

    /// The engine's current activity.
    public nonisolated var currentStatus: SyncStatus {
        lastStatus.withLock { $0 }
    }

    /// Requests a push and a pull now.
    ///
    /// Ends most waits early. A pause that the server asked for stays, and so do the waits after repeated
    /// renewals of the identity and repeated resets of a cursor.
    ///
    /// - Returns: The number of the request. `SyncStatus.answeredRequests` reaches it when the device has everything
    ///   that the server then sent.
    @discardableResult public nonisolated func syncNow() -> Int {
        // Counted first: a pull that begins after the event is handled has begun after this call.
        let number = requests.withLock { count in
            count += 1
            return count
        }
        mailbox.post(.host(.syncRequested))
        return number
    }

    /// Tells the engine that the credentials are new.
    ///
    /// If the server refused the old ones, the engine tries again: at once, unless the server asked for a pause.
    public nonisolated func credentialsChanged() {
        mailbox.post(.host(.credentialsChanged))
    }

    /// Agrees to the deletions that the mass-delete brake held back in this space.
    public nonisolated func allowDeletes(in space: SpaceID) {
        mailbox.post(.host(.deletesAllowed(space)))
    }

    /// Ends `run()` gracefully: pushes and pulls in flight get a few seconds to finish.
    public nonisolated func requestStop() {
        mailbox.post(.host(.stopRequested))
    }

    // MARK: The loop

    /// Runs until a requested stop is complete, or until the task is cancelled, which ends the run at once. A second
    /// call is a programming error, and traps.
    ///
    /// Stopping at any moment loses nothing: the next run begins with what is durable in the store.
    ///
    /// - Throws: `StoreError` when the store cannot return the device's state.
    public func run() async throws {
        guard let events else { preconditionFailure("SyncEngine.run() can be called only once") }
        self.events = nil
        // Subscribe before the first read, so that no commit is missed in between.
        let watchers = watch()
        defer {
            for watcher in watchers { watcher.cancel() }
            for serial in tasks.keys.sorted() { tasks[serial]?.cancel() }
            tasks.removeAll()
            mailbox.finish()
            status.finish()
        }
        var start = try store.session()
        contact = try store.contact()
        start.pause = contact.restOfPause(by: commands.serverAddress, at: runtime.now())
        var isFinished = handle(.host(.started(start, reachability.current)))
        var iterator = events.makeAsyncIterator()
        while !isFinished, !Task.isCancelled, let waiting = await iterator.next(isolation: self) {
            for event in waiting.events where !isFinished && !Task.isCancelled { isFinished = handle(event) }
        }
        if !isFinished { _ = handle(.host(.aborted)) }
        pendingSave?.cancel()
        recorder?.save()
    }

    /// Handles one event and all results of the store that follow from it. Returns true when the run is over.
    private func handle(_ first: SyncEvent) -> Bool {
        var queue = [first]
        var isFinished = false
        while !queue.isEmpty {
            let event = queue.removeFirst()
            let now = runtime.uptime()
            if event == .host(.syncRequested) { handledRequests = requests.withLock { $0 } }
            let actions = decide(on: event, now: now)
            trace?(HandledEvent(at: now, event: event, actions: actions))
            forget(event)
            for action in actions {
                if action == .finish { isFinished = true }
                if let result = carryOut(action) { queue.append(result) }
            }
        }
        publishStatus()
        if recorder?.hasUnsaved == true { saveRecordingSoon() }
        return isFinished
    }

    private func decide(on event: SyncEvent, now: Duration) -> [SyncAction] {
        guard recorder != nil else {
            return session.handle(event, now: now, policy: policy, random: runtime.generator)
        }
        let before = session
        let random = RecordingRandom(runtime.generator)
        let actions = session.handle(event, now: now, policy: policy, random: random)
        recorder?.record(
            SessionTurn(
                at: now, wall: runtime.now(), policy: policy, before: before, event: event,
                draws: random.draws.numbers, actions: actions))
        return actions
    }

    /// Schedules a save: at most one transaction per `recordingDelay`, however many turns there are.
    private func saveRecordingSoon() {
        guard pendingSave == nil else { return }
        let clock = runtime.clock
        pendingSave = runtime.spawn { [weak self] in
            // A cancellation means that the run is over. Its end saves the recording.
            guard (try? await clock.sleep(for: Self.recordingDelay)) != nil else { return }
            await self?.saveRecording()
        }
    }

    private func saveRecording() {
        pendingSave = nil
        recorder?.save()
    }

    /// The longest time for which a turn is only in memory. A killed process loses at most this much of the recording.
    private static let recordingDelay = Duration.seconds(1)

    private func publishStatus() {
        var new = session.status(now: runtime.uptime())
        new.contact = contact
        for space in new.spaces where space.pull == .idle { answeredRequests[space.space] = handledRequests }
        new.answeredRequests = new.spaces.map { answeredRequests[$0.space] ?? 0 }.min() ?? 0
        if new.isPaused {
            // A pause without an end time may follow one that has ended. The contact then still has the ended one.
            let now = runtime.now()
            new.pausedUntil = contact.restOfPause(by: commands.serverAddress, at: now).map(now.advanced(by:))
        }
        let isNew = lastStatus.withLock { last in
            defer { last = new }
            return last != new
        }
        if isNew { status.publish(new) }
    }

    /// Starts tasks that post an event for each change of the store, the link, or the route.
    private func watch() -> [Task<Void, Never>] {
        let mailbox = mailbox
        let commits = store.changes.subscribe()
        let links = reachability.changes.subscribe()
        return [
            runtime.spawn {
                for await change in commits {
                    if change.touchesOutbox { mailbox.post(.device(.outboxTouched)) }
                    if change.touchesSpaces { mailbox.post(.device(.spacesTouched)) }
                    if change.requestsSync { mailbox.post(.host(.syncRequested)) }
                }
            },
            runtime.spawn {
                for await state in links { mailbox.post(.device(.linkChanged(state))) }
            },
        ]
    }

    // MARK: Actions

    /// Carries out one action. A store call returns its result at once; all other results arrive through the mailbox.
    private func carryOut(_ action: SyncAction) -> SyncEvent? {
        switch action {
        case .server(.send(let serial, let request)): begin(request, as: serial)
        case .server(.abandon(let serial)), .server(.closeHints(let serial)), .timer(.disarm(let serial)):
            tasks.removeValue(forKey: serial)?.cancel()
        case .timer(.arm(let serial, let delay)): arm(serial, after: delay)
        case .store(let action): return .store(ask(action))
        case .note(let change): note(change)
        case .checkpoint: checkpoint()
        case .finish: break
        }
        return nil
    }

    /// Removes the task of a request that has ended or a timer that has fired.
    private func forget(_ event: SyncEvent) {
        switch event {
        case .device(.timerFired(let serial)): tasks[serial] = nil
        case .server(let event): if let serial = event.endedRequest { tasks[serial] = nil }
        case .host, .device(.linkChanged), .device(.outboxTouched), .device(.spacesTouched), .store: break
        }
    }

    private func arm(_ serial: Serial, after delay: Duration) {
        let mailbox = mailbox
        let clock = runtime.clock
        tasks[serial] = runtime.spawn {
            // A cancelled sleep means that the timer was disarmed, or that the run is over.
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            mailbox.post(.device(.timerFired(serial)))
        }
    }

    // MARK: Executor

    private nonisolated let executor: ActorExecutor

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.unownedExecutor }
}

import SyncConcurrency
public import SyncCore
public import SyncModel

/// A world of its own: one thread, virtual time, and every choice made by a seed.
///
/// Use it from one thread, most simply in a synchronous test:
///
/// ```swift
/// let simulation = Simulation(seed: 42)
/// let value = try simulation.run(limit: .seconds(60)) {
///     try await simulation.clock(of: "phone").sleep(for: .seconds(30))  // takes no real time
///     return 7
/// }
/// try simulation.finish()
/// ```
public final class Simulation: Sendable {
    public let seed: UInt64
    public let scheduler: SimulationScheduler
    public let trace: SimulationTrace
    /// Listens, when someone wants a report.
    public let recording: WorldRecording?
    private let taskExecutor: SimulationTaskExecutor
    /// Of the simulation itself, to spawn tasks by.
    private let spawner: EngineRuntime
    private let timeline: VirtualTimeline
    private let tasks = Guarded(TaskRegister())
    private let haste: Guarded<Haste>

    /// The tasks that were started by name and have not ended.
    private struct TaskRegister: Sendable {
        var next = 0
        var running: [Int: (name: String, task: Task<Void, Never>?)] = [:]

        var names: [String] { running.sorted { $0.key < $1.key }.map(\.value.name) }
    }

    /// Time normally moves only when nothing is ready, which never shows a timer that fires while work still waits for
    /// a slow processor.
    private struct Haste: Sendable {
        let chance: Double
        var random: SeededRandom
    }

    /// - Parameters:
    ///   - slowProcessor: how likely, at each job, time moves to the next deadline although jobs are still ready.
    ///   - traceCapacity: how many of the trace's last lines are kept in words.
    ///   - recording: is told of everything that happens, and changes nothing of it.
    public init(
        seed: UInt64, policy: SchedulingPolicy = .random, slowProcessor: Double = 0, traceCapacity: Int = 512,
        recording: WorldRecording? = nil
    ) {
        self.seed = seed
        self.recording = recording
        scheduler = SimulationScheduler(seed: seed, policy: policy)
        trace = SimulationTrace(capacity: traceCapacity)
        let timeline = VirtualTimeline()
        self.timeline = timeline
        taskExecutor = SimulationTaskExecutor(scheduler: scheduler)
        spawner = EngineRuntime(
            clock: VirtualClock(device: "simulation", timeline: timeline), now: { Self.startTime },
            uptime: { timeline.now },
            random: { 0 }, taskExecutor: taskExecutor)
        haste = Guarded(Haste(chance: slowProcessor, random: SeededRandom(seed: seed, stream: "processor")))
    }

    // MARK: What a device gets

    /// Numbers for one purpose; the same for the same seed and name, whatever is drawn from others.
    public func random(_ stream: String) -> SeededRandom {
        SeededRandom(seed: seed, stream: stream)
    }

    /// Since the simulation began.
    public var now: Duration { timeline.now }

    public func clock(of device: String) -> VirtualClock {
        VirtualClock(device: device, timeline: timeline)
    }

    /// A wall clock that shows `start` now.
    public func makeWallClock(start: WallTime = Simulation.startTime) -> VirtualWallClock {
        VirtualWallClock(start: start, timeline: timeline)
    }

    /// The time of wall clocks at the beginning, unless told otherwise: 2026-01-01T00:00:00Z.
    public static let startTime = WallTime(milliseconds: 1_767_225_600_000)

    /// Time, chance and threads for one device. Its actors get an executor each time this is called.
    ///
    /// - Parameters:
    ///   - device: names the stream of random numbers; two lives of one device should not make the same identifiers.
    ///   - clockOf: the device whose clock it is, when that has another name.
    public func makeRuntime(
        device: String, clockOf machine: String? = nil, wallClock: VirtualWallClock? = nil
    ) -> EngineRuntime {
        let wallClock = wallClock ?? makeWallClock()
        let clock = clock(of: machine ?? device)
        let numbers = Guarded(random("device.\(device)"))
        return EngineRuntime(
            clock: clock,
            now: { wallClock.now },
            uptime: { clock.now.offset },
            random: { numbers.withLock { $0.next() } },
            taskExecutor: taskExecutor,
            actorExecutor: makeActorExecutor())
    }

    /// For an actor of its own: keep one per actor.
    public func makeActorExecutor() -> SimulationSerialExecutor {
        SimulationSerialExecutor(scheduler: scheduler)
    }

    /// The device sleeps: nothing that waits for its clock goes on, while time and its wall clock do.
    ///
    /// - Parameter pausingClock: whether its monotonic clock stands still meanwhile, like CLOCK_MONOTONIC of Linux, or goes
    ///   on, like CLOCK_BOOTTIME (clock_gettime(2)). Of a device that sleeps already it changes nothing.
    public func suspend(_ device: String, pausingClock: Bool = false) {
        note("suspended", by: device, as: .suspended)
        timeline.suspend(device, pausingClock: pausingClock)
    }

    public func resume(_ device: String) {
        note("resumed", by: device, as: .resumed)
        timeline.resume(device)
    }

    /// Adds a line to the trace.
    ///
    /// - Parameters:
    ///   - kind: for a recording alone, like `detail`.
    ///   - detail: more than a line has room for; worked out only when there is a recording.
    public func note(
        _ text: String, by party: String, as kind: EventKind = .note, detail: @autoclosure () -> String = ""
    ) {
        let now = timeline.now
        trace.record(text, by: party, at: now)
        recording?.event(text, by: party, at: now, as: kind, detail: detail())
    }

    /// Tells the recording, if there is one, of what is no line of the trace.
    public func mark(_ text: @autoclosure () -> String, by party: String, as kind: EventKind) {
        recording?.event(text(), by: party, at: timeline.now, as: kind)
    }

    // MARK: Running

    /// Starts a task on this simulation. It does not run before the simulation is settled, advanced or run.
    @discardableResult
    public func start(_ name: String, _ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        scheduler.adoptCurrentThread()
        let number = tasks.withLock { tasks in
            tasks.next += 1
            tasks.running[tasks.next] = (name, nil)
            return tasks.next
        }
        let task = spawner.spawn { [tasks] in
            await body()
            tasks.withLock { $0.running[number] = nil }
        }
        tasks.withLock { tasks in
            if tasks.running[number] != nil { tasks.running[number]?.task = task }
        }
        return task
    }

    /// Runs everything that is ready, without moving time.
    public func settle() throws(SimulationFailure) {
        try drain(until: nil)
    }

    /// Moves time on by `duration`, running everything that becomes ready on the way.
    public func advance(by duration: Duration) throws(SimulationFailure) {
        let target = timeline.now + duration
        try drain(until: target)
        while let deadline = timeline.nextDeadline, deadline <= target {
            timeline.advance(to: deadline)
            try drain(until: target)
        }
        timeline.advance(to: target)
        try drain(until: target)
    }

    /// Runs `body` to its end, moving time on whenever nothing else is left to do.
    ///
    /// - Parameter limit: how much virtual time it may take.
    /// - Throws: what `body` throws, or a `SimulationFailure`.
    public func run<Value: Sendable>(
        limit: Duration, name: String = "main", _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        let outcome = Guarded<Result<Value, any Error>?>(nil)
        start(name) {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
        }
        let end = timeline.now + limit
        while true {
            try drain(until: end)
            if let result = outcome.withLock({ $0 }) { return try result.get() }
            guard let deadline = timeline.nextDeadline else { throw failure(.deadlock) }
            guard deadline <= end else { throw failure(.tooLong(limit)) }
            timeline.advance(to: deadline)
        }
    }

    /// Ends the simulation: cancels every task that was started by name, lets all of them end, and checks that nothing
    /// stays behind.
    public func finish() throws(SimulationFailure) {
        let running = tasks.withLock { tasks in tasks.running.sorted { $0.key < $1.key }.compactMap(\.value.task) }
        for task in running { task.cancel() }
        try settle()
        let names = tasks.withLock { $0.names }
        guard names.isEmpty else { throw failure(.unfinished) }
        guard timeline.sleepers.isEmpty else { throw failure(.sleepersLeft) }
    }

    /// Runs until nothing is ready. With a bound for time, and a slow processor, time may move meanwhile.
    private func drain(until bound: Duration?) throws(SimulationFailure) {
        scheduler.adoptCurrentThread()
        var moment = timeline.now
        var jobs = 0
        while scheduler.step() {
            jobs += 1
            if let bound, haste.withLock({ $0.chance > 0 && $0.random.chance($0.chance) }),
                let deadline = timeline.nextDeadline, deadline <= bound
            {
                timeline.advance(to: deadline)
            }
            let now = timeline.now
            if now > moment {
                moment = now
                jobs = 0
            } else if jobs > SimulationLimits.jobsPerInstant {
                throw failure(.livelock)
            }
        }
        try checkLeaks()
    }

    /// Whether anything has left the simulation: its order is then no longer the seed's.
    public func checkLeaks() throws(SimulationFailure) {
        let foreign = scheduler.foreignCount
        let escaped = scheduler.escapedCount
        guard foreign == 0, escaped == 0 else { throw failure(.leak(foreign: foreign, escaped: escaped)) }
    }

    private func failure(_ kind: SimulationFailure.Kind) -> SimulationFailure {
        SimulationFailure(
            kind: kind, seed: seed, policy: scheduler.policy, time: timeline.now,
            unfinished: tasks.withLock { $0.names },
            sleepers: timeline.sleepers.prefix(SimulationLimits.printedSleepers).map {
                "\($0.device) until \($0.time)"
            },
            lastLines: trace.lines.suffix(SimulationLimits.printedTraceLines))
    }
}

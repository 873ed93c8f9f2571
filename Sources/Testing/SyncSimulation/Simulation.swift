import SyncConcurrency
public import SyncCore
public import SyncModel

/// A deterministic simulation: one thread, virtual time, and a seed that decides every choice.
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
    /// The recording of all events for a report; nil when no report is wanted.
    public let recording: WorldRecording?
    private let taskExecutor: SimulationTaskExecutor
    /// The simulation's own runtime, which spawns its tasks.
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

    /// The simulation of a slow processor.
    ///
    /// Time normally moves only when no job is ready, which never tests a timer that fires while work is still waiting.
    private struct Haste: Sendable {
        let chance: Double
        var random: SeededRandom
    }

    /// - Parameters:
    ///   - slowProcessor: the probability, at each job, that time moves to the next deadline although jobs are ready.
    ///   - traceCapacity: the number of the trace's last lines to keep as text.
    ///   - recording: records all events. It does not affect the run.
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

    // MARK: Resources of a device

    /// Returns a generator for one purpose. Its numbers depend only on the seed and the name, not on draws from other
    /// streams.
    public func random(_ stream: String) -> SeededRandom {
        SeededRandom(seed: seed, stream: stream)
    }

    /// The virtual time since the simulation began.
    public var now: Duration { timeline.now }

    public func clock(of device: String) -> VirtualClock {
        VirtualClock(device: device, timeline: timeline)
    }

    /// Returns a wall clock that shows `start` now.
    public func makeWallClock(start: WallTime = Simulation.startTime) -> VirtualWallClock {
        VirtualWallClock(start: start, timeline: timeline)
    }

    /// The default time of wall clocks at the beginning: 2026-01-01T00:00:00Z.
    public static let startTime = WallTime(milliseconds: 1_767_225_600_000)

    /// Returns the clocks, random numbers, and executors for one device. Each call makes a new actor executor.
    ///
    /// - Parameters:
    ///   - device: names the stream of random numbers. Use a different name for each process of a device, so that they
    ///     do not make the same identifiers.
    ///   - machine: the device whose clock is used, when its name differs from `device`.
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

    /// Returns an executor for one actor.
    public func makeActorExecutor() -> SimulationSerialExecutor {
        SimulationSerialExecutor(scheduler: scheduler, tasks: taskExecutor)
    }

    /// Suspends a device: nothing that waits on its clock continues, while virtual time and its wall clock do.
    ///
    /// Suspending a device that is already suspended has no effect.
    ///
    /// - Parameter pausingClock: whether the device's monotonic clock stops during the suspension, like CLOCK_MONOTONIC
    ///   on Linux, or continues, like CLOCK_BOOTTIME (clock_gettime(2)).
    public func suspend(_ device: String, pausingClock: Bool = false) {
        note("suspended", by: device, as: .suspended)
        timeline.suspend(device, pausingClock: pausingClock)
    }

    public func resume(_ device: String) {
        note("resumed", by: device, as: .resumed)
        timeline.resume(device)
    }

    /// Adds a line to the trace, and an event to the recording if there is one.
    ///
    /// - Parameters:
    ///   - kind: the kind of the event, used only by a recording.
    ///   - detail: text that is too long for a line, used and evaluated only when there is a recording.
    public func note(
        _ text: String, by party: String, as kind: EventKind = .note, detail: @autoclosure () -> String = ""
    ) {
        let now = timeline.now
        trace.record(text, by: party, at: now)
        recording?.event(text, by: party, at: now, as: kind, detail: detail())
    }

    /// Adds an event to the recording, if there is one, but not to the trace.
    public func mark(_ text: @autoclosure () -> String, by party: String, as kind: EventKind) {
        recording?.event(text(), by: party, at: timeline.now, as: kind)
    }

    // MARK: Running

    /// Starts a task on this simulation. It does not run before `settle`, `advance`, or `run` is called.
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

    /// Runs everything that is ready, without advancing time.
    public func settle() throws(SimulationError) {
        try drain(until: nil)
    }

    /// Advances time by `duration` and runs everything that becomes ready on the way.
    public func advance(by duration: Duration) throws(SimulationError) {
        let target = timeline.now + duration
        try drain(until: target)
        while let deadline = timeline.nextDeadline, deadline <= target {
            timeline.advance(to: deadline)
            try drain(until: target)
        }
        timeline.advance(to: target)
        try drain(until: target)
    }

    /// Runs `body` to its end, and advances time whenever nothing else is left to do.
    ///
    /// - Parameter limit: the most virtual time that `body` may take.
    /// - Throws: any error that `body` throws, or a `SimulationError`.
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

    /// Ends the simulation: cancels every task that was started by name, runs all of them to their end, and checks that
    /// nothing is left.
    public func finish() throws(SimulationError) {
        let running = tasks.withLock { tasks in tasks.running.sorted { $0.key < $1.key }.compactMap(\.value.task) }
        for task in running { task.cancel() }
        try settle()
        let names = tasks.withLock { $0.names }
        guard names.isEmpty else { throw failure(.unfinished) }
        guard timeline.sleepers.isEmpty else { throw failure(.sleepersLeft) }
    }

    /// Runs until no job is ready. With a time bound and a slow processor, time may move meanwhile.
    private func drain(until bound: Duration?) throws(SimulationError) {
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

    /// Checks that no work has left the simulation. Otherwise the seed no longer determines its order.
    public func checkLeaks() throws(SimulationError) {
        let foreign = scheduler.foreignCount
        let escaped = scheduler.escapedCount
        guard foreign == 0, escaped == 0 else { throw failure(.leak(foreign: foreign, escaped: escaped)) }
    }

    private func failure(_ kind: SimulationError.Kind) -> SimulationError {
        SimulationError(
            kind: kind, seed: seed, policy: scheduler.policy, time: timeline.now,
            unfinished: tasks.withLock { $0.names },
            sleepers: timeline.sleepers.prefix(SimulationLimits.printedSleepers).map {
                "\($0.device) until \($0.time)"
            },
            lastLines: trace.lines.suffix(SimulationLimits.printedTraceLines))
    }
}

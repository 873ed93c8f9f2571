public import SyncModel

/// Time, chance and threads, as the engine gets them. Production leaves the executors nil; a simulation gives its own.
public struct EngineRuntime: Sendable {
    /// For waiting; monotonic.
    public var clock: any Clock<Duration>
    /// The device's wall clock, for stamps and for display.
    public var now: @Sendable () -> WallTime
    /// Time since some fixed moment, on the clock that `clock` waits by.
    public var uptime: @Sendable () -> Duration
    /// For jitter and identifiers.
    public var random: @Sendable () -> UInt64
    /// Where tasks run; nil is Swift's global pool.
    public var taskExecutor: (any TaskExecutor)?
    /// Where the engine's actor runs; nil is as any actor. SQLite blocks its thread, so production gives it one.
    public var actorExecutor: (any SerialExecutor)?

    public init(
        clock: any Clock<Duration>, now: @escaping @Sendable () -> WallTime, uptime: @escaping @Sendable () -> Duration,
        random: @escaping @Sendable () -> UInt64, taskExecutor: (any TaskExecutor)? = nil,
        actorExecutor: (any SerialExecutor)? = nil
    ) {
        self.clock = clock
        self.now = now
        self.uptime = uptime
        self.random = random
        self.taskExecutor = taskExecutor
        self.actorExecutor = actorExecutor
    }

    /// The only place in the package that starts an unstructured task: the simulation must see all of them.
    public func spawn(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: taskExecutor, operation: body)
    }

    /// A generator of random numbers over `random`.
    public var generator: RuntimeRandom { RuntimeRandom(source: random) }
}

/// The runtime's random source as a generator, for algorithms of the standard library.
public struct RuntimeRandom: RandomNumberGenerator, Sendable {
    private let source: @Sendable () -> UInt64

    fileprivate init(source: @escaping @Sendable () -> UInt64) {
        self.source = source
    }

    public mutating func next() -> UInt64 { source() }
}

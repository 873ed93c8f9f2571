public import SyncModel

/// The clocks, random source, and executors of the engine. Production sets no task executor; a simulation sets its own.
public struct EngineRuntime: Sendable {
    /// For waiting; monotonic.
    public var clock: any Clock<Duration>
    /// The device's wall clock, for timestamps and display.
    public var now: @Sendable () -> WallTime
    /// Time since a fixed moment, on the same clock that `clock` waits by.
    public var uptime: @Sendable () -> Duration
    /// For jitter and identifiers.
    public var random: @Sendable () -> UInt64
    /// The executor of the tasks; nil means Swift's global pool.
    public var taskExecutor: (any TaskExecutor)?
    /// The executor of the engine's actor; nil means the default. SQLite blocks its thread, so production sets one.
    public var actorExecutor: (any SerialExecutor)?

    /// Whether `clock` ends every wait at once. Each deadline of a request is then over before the response, so nothing
    /// can sync with this runtime.
    public var endsWaitsAtOnce = false

    /// Creates a runtime. Without executors, Swift's defaults run the tasks and the engine's actor.
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

    /// Starts an unstructured task, which inherits nothing from the caller: neither its priority nor values that other
    /// packages have attached to it, such as the shutdown of the application's services.
    ///
    /// No other code in `Sources` starts one (`SourceRuleTests`), because the simulation must see every task.
    public func spawn(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: taskExecutor, operation: body)
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

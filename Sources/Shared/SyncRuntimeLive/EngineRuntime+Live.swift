private import Glibc
public import SyncCore
public import SyncModel

extension EngineRuntime {
    /// Returns a runtime that uses the machine's clocks and random source.
    ///
    /// The engine's actor runs on its own serial queue, because SQLite blocks the thread that it runs on.
    public static func live(label: String = "tombolo.engine") -> EngineRuntime {
        EngineRuntime(
            clock: LiveClock(), now: { WallTime.live() }, uptime: { Duration.sinceBoot() },
            random: {
                var generator = SystemRandomNumberGenerator()
                return generator.next()
            },
            actorExecutor: DispatchExecutor(label: label))
    }
}

extension WallTime {
    /// Returns the time of the machine's wall clock.
    public static func live() -> WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Duration {
    /// Returns the time since the machine booted, including the time it was suspended: the clock that `ContinuousClock`
    /// uses.
    static func sinceBoot() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

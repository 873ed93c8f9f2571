private import Glibc
public import SyncCore
public import SyncModel

extension EngineRuntime {
    /// The machine's own clocks and random source. The engine's actor gets a thread of its own, because SQLite
    /// blocks the one it runs on.
    public static func live(label: String = "tombolo.engine") -> EngineRuntime {
        EngineRuntime(
            clock: ContinuousClock(), now: { WallTime.live() }, uptime: { Duration.sinceBoot() },
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
    /// Time since the machine started, also while it slept: the clock that `ContinuousClock` waits by.
    static func sinceBoot() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

import SyncConcurrency
public import SyncCore
public import SyncModel
import SyncSimulation

extension EngineRuntime {
    /// Returns a runtime whose clock and random numbers are the same in every run.
    ///
    /// Each wait ends at once, and sets the clock to its end. A client with this runtime does not sync, and
    /// `Client.open` refuses to start its sync: test the sync on the virtual time of a ``SyncTestbed``.
    ///
    /// - Parameter seed: decides the random numbers.
    public static func mock(seed: UInt64 = 1, startingAt start: WallTime = WallTime(milliseconds: 1_700_000_000_000))
        -> EngineRuntime
    {
        let clock = SkippingClock()
        let chance = Guarded(SeededRandom(seed: seed))
        var runtime = EngineRuntime(
            clock: clock,
            now: { start.advanced(by: clock.now.offset) },
            uptime: { clock.now.offset },
            random: { chance.withLock { $0.next() } })
        runtime.endsWaitsAtOnce = true
        return runtime
    }
}

/// A clock on which every wait ends at once and advances the time to its deadline.
private final class SkippingClock: Clock {
    struct Instant: InstantProtocol {
        let offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let offset = Guarded(Duration.zero)

    var now: Instant { Instant(offset: offset.withLock { $0 }) }

    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        offset.withLock { $0 = max($0, deadline.offset) }
    }
}

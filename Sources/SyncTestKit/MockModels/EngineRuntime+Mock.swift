import SyncConcurrency
public import SyncCore
public import SyncModel

extension EngineRuntime {
    /// Time that stands still unless it is waited for, and chance from a seed: the same in every run.
    public static func mock(seed: UInt64 = 1, startingAt start: WallTime = WallTime(milliseconds: 1_700_000_000_000))
        -> EngineRuntime
    {
        let clock = SkippingClock()
        let chance = Guarded(seed)
        return EngineRuntime(
            clock: clock,
            now: { start.advanced(by: clock.now.offset) },
            uptime: { clock.now.offset },
            random: {
                // SplitMix64 (Steele, Lea, Flood, 2014).
                chance.withLock { state in
                    state &+= 0x9E37_79B9_7F4A_7C15
                    var mixed = state
                    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
                    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
                    return mixed ^ (mixed >> 31)
                }
            })
    }
}

/// A clock on which every wait is over at once: its time goes on to the end of the wait.
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

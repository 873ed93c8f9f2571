import SyncConcurrency
public import SyncModel

/// The wall clock of one device. It follows virtual time, but can be wrong, jump, and drift.
public final class VirtualWallClock: Sendable {
    private struct State: Sendable {
        /// The clock's time at the virtual moment `since`, in microseconds.
        var shown: Int64
        var since: Duration
        /// The drift in parts per million. With a positive drift, the clock runs fast.
        var drift: Int64 = 0

        func reading(at now: Duration) -> Int64 {
            let elapsed = (now - since).wholeMicroseconds
            return shown + elapsed + elapsed / 1_000_000 * drift + elapsed % 1_000_000 * drift / 1_000_000
        }

        mutating func rebase(at now: Duration) {
            shown = reading(at: now)
            since = now
        }
    }

    private let state: Guarded<State>
    private let timeline: VirtualTimeline

    init(start: WallTime, timeline: VirtualTimeline) {
        self.timeline = timeline
        state = Guarded(State(shown: start.milliseconds * 1_000, since: timeline.now))
    }

    public var now: WallTime {
        let moment = timeline.now
        let microseconds = state.withLock { $0.reading(at: moment) }
        return WallTime(milliseconds: Int64((Double(microseconds) / 1_000).rounded(.down)))
    }

    /// Returns the clock's error in microseconds, compared with a clock that showed `startTime` at the beginning.
    func error(since startTime: WallTime) -> Int64 {
        let moment = timeline.now
        return state.withLock { $0.reading(at: moment) } - startTime.milliseconds * 1_000 - moment.wholeMicroseconds
    }

    /// Sets the clock forward, or back if `duration` is negative.
    public func jump(by duration: Duration) {
        state.withLock { $0.shown += duration.wholeMicroseconds }
    }

    /// Sets the clock to `time`.
    public func set(to time: WallTime) {
        let moment = timeline.now
        state.withLock { state in
            state.shown = time.milliseconds * 1_000
            state.since = moment
        }
    }

    /// Sets the drift. With a positive drift, the clock runs fast.
    public func drift(partsPerMillion: Int64) {
        let moment = timeline.now
        state.withLock { state in
            state.rebase(at: moment)
            state.drift = partsPerMillion
        }
    }
}

extension Duration {
    /// The duration in whole microseconds. Simulations are shorter than the 292,000 years that fit.
    var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
}

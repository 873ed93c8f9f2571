/// A clock of a simulation: it stands still until the simulation moves it, and a sleep on it takes no real time.
///
/// The clocks of one simulation show the same time, but for those that have paused. Each belongs to a device: while that device is suspended none of
/// its sleepers wakes, and those whose deadline passes meanwhile wake together when it goes on. A clock that pauses is
/// behind from then on, and what slept by it sleeps on.
public struct VirtualClock: Clock {
    /// A moment of the simulation.
    public struct Instant: InstantProtocol {
        /// Since the simulation began.
        public let offset: Duration

        public init(offset: Duration) {
            self.offset = offset
        }

        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        public func duration(to other: Instant) -> Duration {
            other.offset - offset
        }

        public static func < (left: Instant, right: Instant) -> Bool {
            left.offset < right.offset
        }
    }

    /// The device of this clock.
    public let device: String
    let timeline: VirtualTimeline

    public var now: Instant { Instant(offset: timeline.now(of: device)) }

    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits for virtual time to reach `deadline`. Throws `CancellationError` when the task is cancelled, before or
    /// meanwhile. A deadline in the past still waits for the simulation to become idle.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await timeline.sleep(until: deadline.offset, device: device)
    }
}

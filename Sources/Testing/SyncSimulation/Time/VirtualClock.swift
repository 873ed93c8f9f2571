/// A clock that advances only when the simulation moves it. Sleeping on it takes no real time.
///
/// Each clock belongs to a device. All clocks of a simulation show the same time, except those that have paused. While
/// a device is suspended, none of its sleepers wakes; those whose deadline passes meanwhile wake together when the
/// device resumes. A clock that pauses stays behind afterwards, and its sleepers sleep that much longer.
public struct VirtualClock: Clock {
    /// A moment of the simulation.
    public struct Instant: InstantProtocol {
        /// The time since the simulation began.
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

    /// Waits until this clock reaches `deadline`. A deadline in the past still waits until the simulation moves time.
    ///
    /// Throws `CancellationError` when the task is cancelled before or during the wait.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await timeline.sleep(until: deadline.offset, device: device)
    }
}

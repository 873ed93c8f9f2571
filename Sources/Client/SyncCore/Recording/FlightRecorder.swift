package import SyncModel

/// Keeps the last turns of a session, so that a person can run them again elsewhere.
///
/// A value that the engine owns: called on the engine's actor, in the order of the turns, never at the same time.
/// It must not throw, and must not wait for long: what it cannot keep is lost, and the sync goes on.
package protocol FlightRecorder: Sendable {
    /// Takes one turn. Kept in memory until `save`, but for what a full memory forces out.
    mutating func record(_ turn: RecorderTurn)

    /// Whether turns were taken that are not durable yet.
    var hasUnsaved: Bool { get }

    /// Makes what was taken durable, in one transaction.
    mutating func save()
}

/// One event that went into the session, and what came out: all that is needed to do it again.
package struct RecorderTurn: Sendable {
    /// On the engine's monotonic clock, as the machine was told.
    package let at: Duration
    /// On the device's wall clock, for people.
    package let wall: WallTime
    package let policy: SyncPolicy
    /// The session as it was before the event.
    package let before: SessionMachine
    package let event: SyncEvent
    /// The random numbers that the session drew, in order.
    package let draws: [UInt64]
    package let actions: [SyncAction]

    package init(
        at: Duration, wall: WallTime, policy: SyncPolicy, before: SessionMachine, event: SyncEvent, draws: [UInt64],
        actions: [SyncAction]
    ) {
        self.at = at
        self.wall = wall
        self.policy = policy
        self.before = before
        self.event = event
        self.draws = draws
        self.actions = actions
    }
}

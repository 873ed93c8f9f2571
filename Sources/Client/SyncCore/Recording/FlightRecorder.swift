package import SyncModel

/// A recorder of the session's last turns, so that a person can replay them elsewhere.
///
/// The engine owns the recorder as a value and calls it on its actor, in the order of the turns, never concurrently.
/// Implementations must not block for long: turns that cannot be kept are lost, and the sync goes on.
package protocol FlightRecorder: Sendable {
    /// Records one turn. Turns may stay in memory until `save`. A recorder with too many turns in memory saves or drops
    /// them earlier.
    mutating func record(_ turn: SessionTurn)

    /// Whether recorded turns exist that are not durable yet.
    var hasUnsaved: Bool { get }

    /// Makes the recorded turns durable, in one transaction.
    mutating func save()
}

/// One event of the session and the actions that it caused: everything needed to replay the turn.
package struct SessionTurn: Sendable {
    /// Time on the engine's monotonic clock, as passed to the machine.
    package let at: Duration
    /// Time on the device's wall clock, for people.
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

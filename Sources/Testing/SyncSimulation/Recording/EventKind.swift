/// The kind of an event, which determines how a report marks and filters it. The trace and its hash do not contain the
/// kind.
public enum EventKind: String, Hashable, Sendable, CaseIterable {
    /// A turn of a state machine, or an event without a specific kind.
    case note
    /// A device has committed a user's transaction.
    case commit
    /// The server has applied a transaction for the first time.
    case serverCommit
    /// The server has applied a transaction that conflicted with other edits.
    case conflict
    /// The server has rejected a transaction, or refused a whole push.
    case rejection
    /// A device has applied a page.
    case page
    /// A process has started.
    case up
    /// A process has ended.
    case down
    case suspended, resumed
    /// A device is cut off in one direction, or connected again.
    case cut, connected
    /// Any other fault: power, disk, clock, a restored backup.
    case fault
    /// A new phase of the run.
    case phase
    /// An invariant was violated, or the run could not continue.
    case violation
}

/// The kind of an event: how a report marks it, and by what a reader filters. It is no part of the trace:
/// the trace's hash knows texts alone.
public enum EventKind: String, Hashable, Sendable, CaseIterable {
    /// A turn of a machine, or anything that has no mark of its own.
    case note
    /// A user's transaction, committed on a device.
    case commit
    /// The server has applied something for the first time.
    case serverCommit
    /// The server has applied something that met other edits.
    case conflict
    /// The server has refused a transaction, or a whole push.
    case rejection
    /// A device has applied a page.
    case page
    /// A process runs.
    case up
    /// A process has ended.
    case down
    case suspended, resumed
    /// Nothing passes any more in one direction; and it does again.
    case cut, connected
    /// Any other fault: power, disk, clock, a backup put back.
    case fault
    /// A new phase of the run.
    case phase
    /// A promise was broken, or the run could not go on.
    case violation
}

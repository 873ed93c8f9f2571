public import SyncConcurrency

/// The source of the device's network state, as its links and routes show it.
///
/// The state is only a hint. Only a response proves that the server is reachable, and the engine sends a request when
/// in doubt.
public protocol Reachability: Sendable {
    /// The last known state of the link.
    var current: LinkState { get }
    /// Publishes each change of the state.
    var changes: Broadcast<LinkState> { get }
    /// Watches the links and routes until the task is cancelled.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, or the error that ended the watch.
    func run() async throws
}

/// The state of the device's network.
public enum LinkState: Hashable, Sendable, Coalescing {
    /// At least one network link is up, so the server may be reachable.
    case up
    /// No link is up. The associated text gives the reason.
    case down(String)

    /// The later state replaces the earlier one.
    public mutating func absorb(_ later: LinkState) {
        self = later
    }
}

public import SyncConcurrency

/// Whether this device has a way to the network, by its links and routes. It is a hint: only the server's answer
/// proves that it is reachable, and the engine asks it when in doubt.
public protocol Reachability: Sendable {
    /// The state of the link as last known.
    var current: LinkState { get }
    /// Tells each change.
    var changes: Broadcast<LinkState> { get }
    /// Watches until the task is cancelled.
    func run() async throws
}

public enum LinkState: Hashable, Sendable, Coalescing {
    /// There is a link that is up, and a route for the server's address.
    case up
    /// There is none; the words say why.
    case down(String)

    /// The later state replaces the earlier one.
    public mutating func absorb(_ later: LinkState) {
        self = later
    }
}

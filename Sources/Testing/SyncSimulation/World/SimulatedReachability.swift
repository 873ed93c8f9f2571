public import SyncConcurrency
public import SyncCore

/// Network links that a test sets up or down.
public final class SimulatedReachability: Reachability {
    public let changes = Broadcast<LinkState>()
    private let state = Guarded(LinkState.up)

    public init() {}

    public var current: LinkState { state.withLock { $0 } }

    /// Waits until the task is cancelled. `set` publishes every change, so there is nothing to watch.
    public func run() async throws {
        for await _ in changes.subscribe() {}
        try Task.checkCancellation()
    }

    public func set(_ link: LinkState) {
        let isNew = state.withLock { state in
            defer { state = link }
            return state != link
        }
        if isNew { changes.publish(link) }
    }
}

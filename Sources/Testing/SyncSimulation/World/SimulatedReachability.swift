public import SyncConcurrency
public import SyncCore

/// Links that go up and down when a test says so.
public final class SimulatedReachability: Reachability {
    public let changes = Broadcast<LinkState>()
    private let state = Guarded(LinkState.up)

    public init() {}

    public var current: LinkState { state.withLock { $0 } }

    /// There is nothing to watch: `set` tells all there is to tell.
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

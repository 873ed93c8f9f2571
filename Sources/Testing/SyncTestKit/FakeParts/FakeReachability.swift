public import SyncConcurrency
public import SyncCore

/// A network state that a test controls.
public final class FakeReachability: Reachability {
    private let state: Guarded<LinkState>
    public let changes = Broadcast<LinkState>()

    /// Creates a network state.
    ///
    /// - Parameter isOnline: the state of the link until the test changes it.
    public init(isOnline: Bool = true) {
        state = Guarded(isOnline ? .up : .down("the test is offline"))
    }

    public var current: LinkState { state.withLock { $0 } }

    /// Sets the link up and publishes that, even if the link was up before.
    public func setOnline() {
        set(.up)
    }

    /// Sets the link down and publishes that, even if the link was down before.
    public func setOffline() {
        set(.down("the test is offline"))
    }

    package func set(_ link: LinkState) {
        state.withLock { $0 = link }
        changes.publish(link)
    }

    /// Waits until the task is cancelled. The test publishes every change, so there is nothing to watch.
    public func run() async {
        for await _ in changes.subscribe() {}
    }
}

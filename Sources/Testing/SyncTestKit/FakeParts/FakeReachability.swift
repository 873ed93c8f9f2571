public import SyncConcurrency
public import SyncCore

/// A network state that a test controls. `run()` returns at once, because there is nothing to watch.
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

    private func set(_ link: LinkState) {
        state.withLock { $0 = link }
        changes.publish(link)
    }

    public func run() async {}
}

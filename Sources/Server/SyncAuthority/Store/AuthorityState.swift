public import SyncModel

/// The state of a server that belongs to no single space.
public struct AuthorityState: Hashable, Sendable {
    /// The current history, which changes after a restore.
    public var history: HistoryIdentity
    /// The server's hybrid clock after its latest write.
    public var clock: HybridClock
    /// Changes with the stored models. It is 0 until the store keeps some. See `Revision`.
    public var catalogRevision: Int64
    /// Changes with the members of spaces. It is 0 until a space gets its first member. See `Revision`.
    public var memberRevision: Int64

    /// Creates the state of a server. A new server has a clock without readings.
    public init(
        history: HistoryIdentity, clock: HybridClock, catalogRevision: Int64 = 0, memberRevision: Int64 = 0
    ) {
        self.history = history
        self.clock = clock
        self.catalogRevision = catalogRevision
        self.memberRevision = memberRevision
    }

    /// The name of the current history.
    public var epoch: Epoch { history.epoch }
}

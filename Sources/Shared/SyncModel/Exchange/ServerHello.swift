/// The server's description of itself, sent in response to a hello.
///
/// Clients use the hello as a reachability check as well.
public struct ServerHello: Hashable, Sendable {
    /// The protocol versions that the server supports.
    public let protocolVersions: ClosedRange<Int>
    /// The current history of the server. An epoch that differs from the stored one means that the server was
    /// restored or replaced.
    public let epoch: Epoch
    /// The account as which the server has authenticated the client.
    public let account: AccountID
    /// The server's hybrid clock when it responded. Devices advance their hybrid clocks to it.
    public let serverTime: HybridTime
    /// The server's wall clock when it responded; nil when the server does not report it. `serverTime` may be ahead of
    /// it, because edits of other devices advance that.
    public let clock: WallTime?
    /// The largest pushes and pages of this server.
    public let limits: ServerLimits
    /// The collections and fields that the server knows; nil when the server does not report them. The client then
    /// sends everything.
    public let models: ServerModels?

    /// The server's wall clock; `serverTime`, which may be ahead of it by the skew that the server permits, if the
    /// server does not report it.
    public var wallTime: WallTime { clock ?? serverTime.wall }

    /// Creates a description. Without `models`, the client sends all collections and fields.
    public init(
        protocolVersions: ClosedRange<Int>, epoch: Epoch, account: AccountID, serverTime: HybridTime,
        clock: WallTime? = nil, limits: ServerLimits, models: ServerModels? = nil
    ) {
        self.models = models
        self.protocolVersions = protocolVersions
        self.epoch = epoch
        self.account = account
        self.serverTime = serverTime
        self.clock = clock
        self.limits = limits
    }
}

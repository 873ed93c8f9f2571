/// The server's description of itself, sent in response to a hello.
///
/// Clients use the hello as a reachability check as well.
public struct ServerHello: Hashable, Sendable {
    /// The protocol versions that the server supports.
    public let protocolVersions: ClosedRange<Int>
    /// The current history of the server. Another epoch than the stored one means that the server was restored or
    /// replaced.
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

    /// The server's wall clock; `serverTime`, which may be up to a minute ahead of it, if the server does not report it.
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

/// The limits of a server's requests and responses.
public struct ServerLimits: Hashable, Sendable {
    /// Maximum total size of the values in one push, in bytes (`Transaction.byteCount`). Their JSON form is longer.
    public let pushBytes: Int
    /// Maximum number of transactions in one push.
    public let pushTransactions: Int
    /// Maximum number of rows or changes in one page.
    public let pageRows: Int

    /// Creates limits. Each must be at least 1.
    public init(pushBytes: Int, pushTransactions: Int, pageRows: Int) {
        self.pushBytes = pushBytes
        self.pushTransactions = pushTransactions
        self.pageRows = pageRows
    }
}

/// The protocol version that this build uses.
public enum ProtocolVersion {
    /// The version of the protocol. A client does not sync with a server whose `protocolVersions` lack it.
    public static let current = 1
}

/// A request for one record, read directly from the server.
public struct FetchRequest: Hashable, Sendable {
    /// The space in which to look for the record.
    public let space: SpaceID
    /// The collection in which to look for the record.
    public let collection: CollectionName
    /// The id or the uid of the record.
    public let key: RecordKey

    /// Creates a request for one record, which need not exist.
    public init(space: SpaceID, collection: CollectionName, key: RecordKey) {
        self.space = space
        self.collection = collection
        self.key = key
    }
}

/// The two ways to name a record of a collection.
public enum RecordKey: Hashable, Sendable {
    /// The id that the creating client chose, known before any server has seen the record.
    case id(RecordID)
    /// The number that the server assigned, 0 or more.
    case uid(UID)
}

/// A notification that something was committed in a space, so that the client pulls now.
///
/// Hints only reduce latency. Correctness never depends on them.
public struct Hint: Hashable, Sendable {
    /// The space with the commit.
    public let space: SpaceID
    /// The newest version of the space when the hint was sent. The device may have it already.
    public let head: Version

    /// Creates a hint for one space.
    public init(space: SpaceID, head: Version) {
        self.space = space
        self.head = head
    }
}

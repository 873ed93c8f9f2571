/// The server's description of itself, sent in response to a hello.
///
/// Clients use the hello as a reachability check as well.
public struct ServerHello: Hashable, Sendable {
    /// The protocol versions that the server supports.
    public let protocolVersions: ClosedRange<Int>
    public let epoch: Epoch
    /// The account as which the server has authenticated the client.
    public let account: AccountID
    public let serverTime: HybridTime
    public let limits: ServerLimits
    /// The collections and fields that the server knows; nil when the server does not report them. The client then
    /// sends everything.
    public let models: ServerModels?

    public init(
        protocolVersions: ClosedRange<Int>, epoch: Epoch, account: AccountID, serverTime: HybridTime,
        limits: ServerLimits, models: ServerModels? = nil
    ) {
        self.models = models
        self.protocolVersions = protocolVersions
        self.epoch = epoch
        self.account = account
        self.serverTime = serverTime
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

    public init(pushBytes: Int, pushTransactions: Int, pageRows: Int) {
        self.pushBytes = pushBytes
        self.pushTransactions = pushTransactions
        self.pageRows = pageRows
    }
}

/// The protocol version that this build uses.
public enum ProtocolVersion {
    public static let current = 1
}

/// A request for one record, read directly from the server.
public struct FetchRequest: Hashable, Sendable {
    public let space: SpaceID
    public let collection: CollectionName
    public let key: RecordKey

    public init(space: SpaceID, collection: CollectionName, key: RecordKey) {
        self.space = space
        self.collection = collection
        self.key = key
    }
}

/// The two ways to name a record of a collection.
public enum RecordKey: Hashable, Sendable {
    case id(RecordID)
    case uid(UID)
}

/// A notification that something was committed in a space, so that the client pulls now.
///
/// Hints only reduce latency. Correctness never depends on them.
public struct Hint: Hashable, Sendable {
    public let space: SpaceID
    public let head: Version

    public init(space: SpaceID, head: Version) {
        self.space = space
        self.head = head
    }
}

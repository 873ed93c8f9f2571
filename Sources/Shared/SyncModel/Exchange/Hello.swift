/// The server's description of itself in a hello: also the answer to "is it reachable?".
public struct ServerHello: Hashable, Sendable {
    /// The versions of the protocol that the server speaks.
    public let protocolVersions: ClosedRange<Int>
    public let epoch: Epoch
    /// Whom the server takes the client for.
    public let account: AccountID
    public let serverTime: HybridTime
    public let limits: ServerLimits
    /// Nil where the server does not say: everything is sent to it then.
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

/// How much a server takes and gives at once.
public struct ServerLimits: Hashable, Sendable {
    /// The bytes of all values of a push (`Transaction.byteCount`); its JSON form is longer.
    public let pushBytes: Int
    /// The transactions of one push.
    public let pushTransactions: Int
    /// The rows or changes of one page.
    public let pageRows: Int

    public init(pushBytes: Int, pushTransactions: Int, pageRows: Int) {
        self.pushBytes = pushBytes
        self.pushTransactions = pushTransactions
        self.pageRows = pageRows
    }
}

/// The version of the protocol that this build speaks.
public enum ProtocolVersion {
    public static let current = 1
}

/// Asks for one record straight from the server.
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

/// "Pull now": something was committed in a space. Correctness never depends on it.
public struct Hint: Hashable, Sendable {
    public let space: SpaceID
    public let head: Version

    public init(space: SpaceID, head: Version) {
        self.space = space
        self.head = head
    }
}

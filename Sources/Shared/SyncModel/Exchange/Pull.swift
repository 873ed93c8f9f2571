/// A request for the changes in a space.
public struct PullRequest: Hashable, Sendable {
    public let space: SpaceID
    /// The client's position; nil requests a snapshot from its beginning.
    public let cursor: Cursor?
    /// Proof of a commit that the server has confirmed and that the cursor has not reached yet; nil when there is none.
    public let receipt: Cursor?
    /// Maximum number of rows or changes that the client wants. A single commit may exceed it, because commits are not
    /// split.
    public let limit: Int
    /// The account that owns the client's database; nil means the account of the token.
    public let account: AccountID?
    /// The conflict notices that the client wants; nil for none.
    public let notices: NoticeRequest?

    public init(
        space: SpaceID, cursor: Cursor?, receipt: Cursor? = nil, limit: Int, account: AccountID? = nil,
        notices: NoticeRequest? = nil
    ) {
        self.space = space
        self.cursor = cursor
        self.receipt = receipt
        self.limit = limit
        self.account = account
        self.notices = notices
    }
}

/// The server's response to a pull.
public enum PullReply: Hashable, Sendable {
    case page(PullPage)
    /// The cursor can no longer be used. The client must start again with a snapshot, and keep its outbox.
    case mustReset(ResetReason)
    /// The account may not read the space, or no space has this name. The client must delete its copy of the space.
    ///
    /// The epoch names the history for which this holds: another server at the same address knows nothing about the
    /// account's rights in this history.
    case noAccess(Epoch)
}

public enum ResetReason: String, Hashable, Sendable {
    /// The server no longer knows what was deleted since the cursor.
    case horizon
    /// The server has a different history: it was restored from a backup, or replaced.
    case epoch
    /// The server cannot read the cursor: it is damaged, or a different server created it.
    case cursor
}

/// Proof that the server has committed a version of a space.
///
/// It is the cursor at that version. The server returns it with the outcome of a transaction, and the client presents
/// it until its own cursor has reached the version. A server that was restored from an older copy recognizes by it that
/// the commit is lost.
public struct CommitReceipt: Hashable, Sendable {
    public let space: SpaceID
    public let version: Version
    public let cursor: Cursor

    public init(space: SpaceID, version: Version, cursor: Cursor) {
        self.space = space
        self.version = version
        self.cursor = cursor
    }
}

/// A page of a snapshot or of the change feed, with the cursor that follows it.
public struct PullPage: Hashable, Sendable {
    public let space: SpaceID
    public let epoch: Epoch
    public let serverTime: HybridTime
    public let content: Content
    /// The client's position after it has applied this page.
    public let cursor: Cursor
    /// The version up to which the client has every commit after it has applied this page. During a snapshot, the
    /// version at which the snapshot began.
    public let version: Version
    /// The newest version of the space when the page was made.
    public let head: Version
    /// Whether the client should request another page immediately.
    public let hasMore: Bool
    /// The notices about values of the requesting device that lost a conflict, in the order of their numbers. They
    /// cover commits up to `head`.
    public let notices: [ConflictNotice]
    /// Whether more notices are available immediately.
    public let hasMoreNotices: Bool

    public enum Content: Hashable, Sendable {
        /// Records in their current state: one collection after another, in the order of the server's catalog, and
        /// ordered by id within a collection.
        ///
        /// `isFirst` starts a new snapshot, and `isLast` completes it: every record that the client holds and that the
        /// snapshot did not contain no longer exists on the server.
        case snapshot([SnapshotRows], isFirst: Bool, isLast: Bool)
        /// Commits in the order of their versions, without gaps.
        case commits([Commit])
    }

    public init(
        space: SpaceID, epoch: Epoch, serverTime: HybridTime, content: Content, cursor: Cursor, version: Version,
        head: Version, hasMore: Bool, notices: [ConflictNotice] = [], hasMoreNotices: Bool = false
    ) {
        self.space = space
        self.epoch = epoch
        self.serverTime = serverTime
        self.content = content
        self.cursor = cursor
        self.version = version
        self.head = head
        self.hasMore = hasMore
        self.notices = notices
        self.hasMoreNotices = hasMoreNotices
    }
}

/// Records of one collection, in the order of their ids.
public struct SnapshotRows: Hashable, Sendable {
    public let collection: CollectionName
    public let records: [Record]

    public init(collection: CollectionName, records: [Record]) {
        self.collection = collection
        self.records = records
    }
}

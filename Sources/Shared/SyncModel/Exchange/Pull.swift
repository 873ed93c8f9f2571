/// Asks for what is new in a space.
public struct PullRequest: Hashable, Sendable {
    public let space: SpaceID
    /// Where the client stands; nil asks for a snapshot from its beginning.
    public let cursor: Cursor?
    /// Proof of a commit that the server has confirmed and the cursor has not reached yet; nil when there is none.
    public let receipt: Cursor?
    /// How many rows or changes the client wants at most. A commit is not split, so one may exceed it.
    public let limit: Int
    /// The account whose database the answer is for; nil for whoever the token is of.
    public let account: AccountID?
    /// Which notices of lost values the client wants; nil for none.
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

/// The server's answer to a pull.
public enum PullReply: Hashable, Sendable {
    case page(PullPage)
    /// The cursor is of no use any more: start again with a snapshot, and keep the outbox.
    case mustReset(ResetReason)
    /// The account may not read the space, or there is none of this name: what the device holds of it is to be removed.
    ///
    /// It says of which history it speaks. Another server under the same address knows nothing of the account's rights here.
    case noAccess(Epoch)
}

public enum ResetReason: String, Hashable, Sendable {
    /// The server can no longer tell what was deleted since the cursor.
    case horizon
    /// The server's history is another one: it was restored from a backup, or replaced.
    case epoch
    /// The server cannot read the cursor: it is damaged, or another server has made it.
    case cursor
}

/// Proof that the server has committed a version of a space: the cursor at that version, given with the outcome of a
/// transaction.
///
/// The client shows it until its own cursor has reached the version. A server that was restored from an older copy
/// recognizes by it that the commit is lost.
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

/// Part of a snapshot or of the feed, with the cursor behind it.
public struct PullPage: Hashable, Sendable {
    public let space: SpaceID
    public let epoch: Epoch
    public let serverTime: HybridTime
    public let content: Content
    /// Where the client stands once it has applied this page.
    public let cursor: Cursor
    /// The version up to which the client has every commit, once it has applied this page; during a snapshot, the
    /// version at which the snapshot began.
    public let version: Version
    /// The newest version of the space when the page was made.
    public let head: Version
    /// Whether another page follows at once.
    public let hasMore: Bool
    /// Values of the asking device that gave way to others, in the order of their numbers; those of commits up to `head`.
    public let notices: [ConflictNotice]
    /// Whether more notices follow at once.
    public let hasMoreNotices: Bool

    public enum Content: Hashable, Sendable {
        /// Records as they are now, in the order of collection and id. `isFirst` starts a new snapshot, and
        /// `isLast` completes it: what the client holds and was not shown is gone.
        case snapshot([SnapshotRows], isFirst: Bool, isLast: Bool)
        /// Commits in the order of their versions, none missing.
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

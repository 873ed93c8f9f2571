/// A page of a snapshot or of the change feed, with the cursor that follows it.
public struct PullPage: Hashable, Sendable {
    /// The space of all records in the page.
    public let space: SpaceID
    /// The server's history to which the cursor and the versions belong.
    public let epoch: Epoch
    /// The server's clock when it made the page. Devices advance their hybrid clocks to it.
    public let serverTime: HybridTime
    /// The rows of a snapshot, or the commits of the change feed.
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
    /// The number of the newest notice for the device that the server has removed before the device fetched it, because
    /// there were too many; nil when none is missing.
    public let noticesRemovedUpTo: Int64?
    /// The encoded form of `content`, if other responses of this server have the same content.
    package let sharedForm: SharedForm?

    /// The rows or the commits of a page.
    public enum Content: Hashable, Sendable {
        /// Records in their current state, ordered by collection name, then by id.
        ///
        /// `isFirst` starts a new snapshot, and `isLast` completes it: a record that the client once received and that
        /// the snapshot did not contain no longer exists on the server.
        case snapshot([SnapshotRows], isFirst: Bool, isLast: Bool)
        /// Commits in the order of their versions, without gaps.
        case commits([Commit])
    }

    /// Creates a page as a server does. The defaults are a page without notices.
    public init(
        space: SpaceID, epoch: Epoch, serverTime: HybridTime, content: Content, cursor: Cursor, version: Version,
        head: Version, hasMore: Bool, notices: [ConflictNotice] = [], hasMoreNotices: Bool = false,
        noticesRemovedUpTo: Int64? = nil
    ) {
        self.init(
            space: space, epoch: epoch, serverTime: serverTime, content: content, cursor: cursor, version: version,
            head: head, hasMore: hasMore, notices: notices, hasMoreNotices: hasMoreNotices,
            noticesRemovedUpTo: noticesRemovedUpTo, sharedForm: nil)
    }

    package init(
        space: SpaceID, epoch: Epoch, serverTime: HybridTime, content: Content, cursor: Cursor, version: Version,
        head: Version, hasMore: Bool, notices: [ConflictNotice] = [], hasMoreNotices: Bool = false,
        noticesRemovedUpTo: Int64? = nil, sharedForm: SharedForm?
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
        self.noticesRemovedUpTo = noticesRemovedUpTo
        self.sharedForm = sharedForm
    }
}

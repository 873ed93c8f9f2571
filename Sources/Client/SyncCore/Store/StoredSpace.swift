public import SyncModel

/// The stored state of one space.
public struct StoredSpace: Hashable, Sendable {
    /// The name of a space that the device follows.
    public let space: SpaceID
    /// The position from which the next pull continues; nil before the first page and after a reset.
    public let cursor: Cursor?
    /// Once `isComplete`, every commit up to this version is applied.
    public let version: Version
    /// Whether the device has taken a whole snapshot and read the change feed up to the head that the snapshot
    /// reported.
    public let isComplete: Bool
    /// False after the space is vacated, until the server shows part of it again.
    public let hasAccess: Bool
    /// Proof of the newest commit that the server has confirmed to this device; nil before the first one in the current
    /// history.
    public let receipt: CommitReceipt?
    /// The notices of lost values that the device still requests; nil while the journal has no room for them, and for a
    /// space that is not stored yet.
    public package(set) var notices: NoticeRequest?

    /// Creates the state of a space. By default, the account has access, there is no receipt, and no notices are
    /// requested.
    public init(
        space: SpaceID, cursor: Cursor?, version: Version, isComplete: Bool, hasAccess: Bool = true,
        receipt: CommitReceipt? = nil, notices: NoticeRequest? = nil
    ) {
        self.receipt = receipt
        self.space = space
        self.cursor = cursor
        self.version = version
        self.isComplete = isComplete
        self.hasAccess = hasAccess
        self.notices = notices
    }
}

extension StoredSpace {
    /// Whether notices of lost values wait on the server until the journal has room for them.
    public var noticesWait: Bool { cursor != nil && notices == nil }

    /// A space that the device does not follow, and of which it has nothing.
    package init(unfollowed space: SpaceID) {
        self.init(space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: false)
    }

    /// The receipt, unless the cursor has reached its commit and proves the same.
    package var unreachedReceipt: CommitReceipt? {
        guard let receipt, cursor == nil || receipt.version > version else { return nil }
        return receipt
    }

    /// The receipt, unless the cursor is beyond its version. A server that has the later commits has the transaction of
    /// the receipt, too. At the same version, the transaction may have made no commit, and only the receipt proves it.
    package var neededReceipt: CommitReceipt? {
        guard let receipt, cursor == nil || receipt.version >= version else { return nil }
        return receipt
    }

    /// Returns the space after the server has issued a receipt. Receipts arrive in any order; the newest one is kept.
    ///
    /// A push whose edits all lose makes no commit. Its receipt has the version of an earlier commit, but proves more
    /// than that commit: the server has the outcome and the conflicts of the push.
    package func confirmed(by other: CommitReceipt) -> StoredSpace {
        guard other.version > .zero, other.version >= receipt?.version ?? .zero else { return self }
        return StoredSpace(
            space: space, cursor: cursor, version: version, isComplete: isComplete, hasAccess: hasAccess,
            receipt: other, notices: notices)
    }
}

/// A request for the changes in a space.
public struct PullRequest: Hashable, Sendable {
    /// The space to read.
    public let space: SpaceID
    /// The client's position; nil requests a snapshot from its beginning.
    public let cursor: Cursor?
    /// The client's newest receipt in this space, unless `cursor` is beyond its version: proof of a confirmed
    /// transaction, which may have made no commit; nil when the client has no such proof.
    public let receipt: Cursor?
    /// Maximum number of rows or changes that the client wants. A single commit may exceed it, because commits are not
    /// split.
    public let limit: Int
    /// The account that owns the client's database; nil means the account of the token.
    public let account: AccountID?
    /// The conflict notices that the client wants; nil for none.
    public let notices: NoticeRequest?

    /// Creates a request. The defaults show no receipt and request no notices.
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

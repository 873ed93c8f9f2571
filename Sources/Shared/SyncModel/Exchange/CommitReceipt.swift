/// Proof that the server has committed a version of a space.
///
/// The server returns a receipt with the outcome of a transaction. The client sends the receipt with each push to the
/// space. While its own cursor is missing or has not reached the version, it sends the receipt with each pull of the
/// space and with pushes to other spaces, too. To a server that was restored from an older copy, the receipt proves
/// that the commit is lost.
public struct CommitReceipt: Hashable, Sendable {
    /// The space of the commit.
    public let space: SpaceID
    /// The version of the commit.
    public let version: Version
    /// The cursor at `version`, with the client and the number of the transaction. Only the server can read it.
    public let cursor: Cursor

    /// Creates a receipt without checking that the cursor is at `version`.
    public init(space: SpaceID, version: Version, cursor: Cursor) {
        self.space = space
        self.version = version
        self.cursor = cursor
    }
}

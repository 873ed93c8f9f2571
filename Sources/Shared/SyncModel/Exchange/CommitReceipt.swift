/// Proof that the server has committed a version of a space.
///
/// A receipt is a cursor at that version, with the number of the transaction. The server returns the receipt with the
/// outcome of the transaction. The client sends the receipt until its own cursor reaches the version, and again
/// whenever it has no cursor. The receipt proves to a server that was restored from an older copy that the commit is
/// lost.
public struct CommitReceipt: Hashable, Sendable {
    /// The space of the commit.
    public let space: SpaceID
    /// The version of the commit.
    public let version: Version
    /// The cursor at `version`, which only the server can check.
    public let cursor: Cursor

    /// Creates a receipt without checking that the cursor is at `version`: only the server can read cursors.
    public init(space: SpaceID, version: Version, cursor: Cursor) {
        self.space = space
        self.version = version
        self.cursor = cursor
    }
}

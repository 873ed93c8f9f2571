/// Proof that the server has committed a version of a space.
///
/// It is a cursor at that version that also names the transaction. The server returns it with the outcome of the
/// transaction. The client presents it until its own cursor has reached the version, and again whenever it has no cursor.
/// A server that was restored from an older copy recognizes by it that the commit is lost.
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

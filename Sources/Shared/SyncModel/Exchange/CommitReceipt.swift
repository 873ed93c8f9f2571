/// Proof that the server has committed a version of a space.
///
/// It is a cursor at that version that also names the transaction. The server returns it with the outcome of the
/// transaction. The client presents it until its own cursor has reached the version, and again whenever it has no cursor.
/// A server that was restored from an older copy recognizes by it that the commit is lost.
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

public import SyncModel

/// A local write: edits that become one transaction.
public struct LocalWrite: Hashable, Sendable {
    /// The edits, in order.
    public let edits: [RecordEdit]
    /// The versions of the fields that the author of an update saw, where they may be older than those of the database.
    public let seen: SeenVersions
    /// The space of all records of the transaction.
    public let space: SpaceID

    /// Creates a local write.
    public init(_ edits: [RecordEdit], seen: SeenVersions = [:], in space: SpaceID) {
        self.edits = edits
        self.seen = seen
        self.space = space
    }
}

public import SyncModel

/// A local write: edits that become one transaction.
public struct LocalWrite: Hashable, Sendable {
    /// The edits, in order.
    public let edits: [RecordEdit]
    /// The fields as the author of an update or delete saw them, where they may differ from those of the database.
    public let seen: SeenFields
    /// The space of all records of the transaction.
    public let space: SpaceID

    /// Creates a local write.
    public init(_ edits: [RecordEdit], seen: SeenFields = [:], in space: SpaceID) {
        self.edits = edits
        self.seen = seen
        self.space = space
    }
}

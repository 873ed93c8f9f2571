/// A request for one record, read directly from the server.
public struct FetchRequest: Hashable, Sendable {
    /// The space in which to look for the record.
    public let space: SpaceID
    /// The collection in which to look for the record.
    public let collection: CollectionName
    /// The id or the uid of the record.
    public let key: RecordKey

    /// Creates a request for one record, which need not exist.
    public init(space: SpaceID, collection: CollectionName, key: RecordKey) {
        self.space = space
        self.collection = collection
        self.key = key
    }
}

/// The two ways to name a record of a collection.
public enum RecordKey: Hashable, Sendable {
    /// The id that the creating client chose, known before any server has seen the record.
    case id(RecordID)
    /// The number that the server assigned, 0 or more.
    case uid(UID)
}

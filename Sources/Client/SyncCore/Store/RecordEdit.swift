public import SyncModel

/// An edit of one record, as an application requests it.
public enum RecordEdit: Hashable, Sendable {
    /// Creates the record with these values, under an id that was never used. Defaults are not filled in.
    case create(CollectionName, RecordID, Patch)
    /// Sets these fields of the record. Fields that already have the requested value are left alone.
    case update(CollectionName, RecordID, Patch)
    /// Deletes the record, which must be on this device.
    case delete(CollectionName, RecordID)

    /// The collection of the record.
    public var collection: CollectionName {
        switch self {
        case .create(let collection, _, _), .update(let collection, _, _), .delete(let collection, _): collection
        }
    }

    /// The id of the record.
    public var record: RecordID {
        switch self {
        case .create(_, let id, _), .update(_, let id, _), .delete(_, let id): id
        }
    }

    package var address: RecordAddress { RecordAddress(collection, record) }
}

/// The address of a record: its collection and its id.
public struct RecordAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The collection of the record.
    public let collection: CollectionName
    /// The id of the record, unique in its collection.
    public let id: RecordID

    /// Creates the address of a record, which need not exist.
    public init(_ collection: CollectionName, _ id: RecordID) {
        self.collection = collection
        self.id = id
    }

    public static func < (left: RecordAddress, right: RecordAddress) -> Bool {
        left.collection == right.collection ? left.id < right.id : left.collection < right.collection
    }

    /// Hashes only the id, because names take long to hash. Records of two collections rarely share an id.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
    }

    public var description: String { "\(collection) \(id)" }
}

extension Mutation {
    /// The address of the record that the mutation changes.
    public var address: RecordAddress { RecordAddress(collection, record) }
}

public import SyncModel

/// A query for the current records of one collection.
public struct RecordQuery: Hashable, Sendable {
    public var collection: CollectionName
    /// Conditions that a record must all meet. Field names are looked up in the schema; values are bound, never written
    /// into SQL.
    public var conditions: [Condition]
    public var order: Order
    public var limit: Int?
    public var offset: Int

    public struct Condition: Hashable, Sendable {
        public let field: FieldName
        public let equals: FieldValue

        public init(_ field: FieldName, equals value: FieldValue) {
            self.field = field
            self.equals = value
        }
    }

    public enum Order: Hashable, Sendable {
        /// In the order of creation.
        case id
        /// Records without a uid first.
        case uid
        case field(FieldName)
    }

    public init(
        _ collection: CollectionName, where conditions: [Condition] = [], order: Order = .id, limit: Int? = nil,
        offset: Int = 0
    ) {
        self.collection = collection
        self.conditions = conditions
        self.order = order
        self.limit = limit
        self.offset = offset
    }
}

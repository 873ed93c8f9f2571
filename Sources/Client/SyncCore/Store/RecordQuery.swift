public import SyncModel

/// A query for the current records of one collection.
public struct RecordQuery: Hashable, Sendable {
    /// The collection of all records in the result.
    public var collection: CollectionName
    /// The condition that a record must meet. Field names are looked up in the schema; values are bound, never written
    /// into SQL.
    public var filter: RecordFilter
    /// The space of all records in the result; nil for the records of every space.
    public var space: SpaceID?
    /// The sort keys. The id is always the last key, so the order is total.
    public var orders: [RecordOrder]
    /// The position after which the result begins; nil for the beginning.
    public var cursor: RecordCursor?
    /// Maximum number of records to return; nil for all.
    public var limit: Int?
    /// Number of matching records to skip, after the cursor. For pages, a cursor is faster.
    public var offset: Int

    /// Creates a query for the current records of a collection.
    ///
    /// - Parameter conditions: A record must meet all of them.
    public init(
        _ collection: CollectionName, where conditions: [RecordFilter] = [], order: RecordOrder = .id,
        limit: Int? = nil,
        offset: Int = 0
    ) {
        self.collection = collection
        filter = .all(conditions)
        orders = [order]
        self.limit = limit
        self.offset = offset
    }
}

extension RecordQuery {
    /// Returns the first error in the query as a sentence, or nil.
    public func problem(in schema: ModelSchema) -> String? {
        for case .field(let name) in orders.map(\.term) where schema.position(of: name) == nil {
            return "\(collection).\(name): there is no such field"
        }
        guard orders.count <= SchemaLimits.sortKeys else {
            let most = SchemaLimits.sortKeys
            return "a query on \(collection) has \(orders.count) sort keys; at most \(most) are allowed"
        }
        if let problem = filter.problem(in: schema) { return problem }
        guard let cursor else { return nil }
        guard let after = cursor.filter(orders: orders) else {
            return
                "the cursor has \(cursor.values.count) values, and the order of the query has \(orders.total.count) keys"
        }
        // The filter of the cursor does not count toward the limits of the query: a query that has a first page has
        // all. The limit of the sort keys bounds its size.
        return after.typeProblem(in: schema)
    }

    /// The filter together with the position after which the result begins.
    public var completeFilter: RecordFilter {
        guard let after = cursor?.filter(orders: orders) else { return filter }
        return filter && after
    }

    /// Evaluates the query over records in any order, for sources without a database. Records do not tell their space,
    /// so the caller passes only those of the query's space.
    public func matches(among records: some Sequence<Record>, schema: ModelSchema) -> [Record] {
        let filter = completeFilter
        let sorted = records.filter { filter.matches($0, schema: schema) }
            .sorted { orders.precedes($0, $1, schema: schema) }
        return Array(sorted.dropFirst(max(0, offset)).prefix(limit.map { max(0, $0) } ?? .max))
    }
}

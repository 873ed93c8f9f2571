import SyncConcurrency
import SyncCore
public import SyncModel
public import TomboloModeling

/// A typed query for the objects of one model. It is a value: each method returns another query.
///
/// ```swift
/// let urgent = client.query(Todo.self)
///     .where { !$0.isDone && ($0.due < tomorrow || $0.priority == .high) }
///     .sorted { [$0.due.ascending, $0.title.descending] }
/// let page = try await urgent.limit(50).all()
/// let next = try await urgent.after(page.last).limit(50).all()
/// ```
///
/// An error in a query, such as a computed field or a value that cannot be stored, is thrown when it runs.
public struct ModelQuery<M: Model>: Sendable {
    private let objects: LiveObjects
    private let kind: LiveKind<M>?
    private var query: RecordQuery
    private var problem: ModelError?
    /// The object after which the result begins; nil for the beginning.
    private var predecessor: Live<M>?

    init(_ type: M.Type, objects: LiveObjects) {
        self.objects = objects
        do throws(ModelError) {
            let kind = try objects.kind(of: type)
            self.kind = kind
            query = RecordQuery(kind.collection)
        } catch {
            kind = nil
            // A query with this name never runs: the problem is thrown first.
            query = RecordQuery(CollectionName(unchecked: M.collection))
            problem = error
        }
    }

    // MARK: Building

    /// Returns the query for the objects that also meet this condition.
    public func `where`(_ condition: (M) -> ModelCondition<M>) -> ModelQuery {
        guard let kind else { return self }
        let added = condition(kind.shape.fields)
        return with { query in
            query.query.filter = query.query.filter && added.filter
            query.note(added.problem)
        }
    }

    /// Returns the query for the objects of one space. Without it, a query finds those of all spaces on the device.
    public func `in`(_ space: SpaceID) -> ModelQuery {
        with { $0.query.space = space }
    }

    /// Returns the query in this order. The id is always the last key, so that the order is total. Without keys,
    /// objects come in the order of their ids: in order of creation by the clocks of the devices, to the millisecond,
    /// except for imported records.
    public func sorted(_ orders: (M) -> [ModelOrder<M>]) -> ModelQuery {
        guard let kind else { return self }
        let keys = orders(kind.shape.fields)
        return with { query in
            query.query.orders = keys.map(\.order)
            for key in keys { query.note(key.problem) }
        }
    }

    /// Returns the query for the objects after this one in the order of the query; nil means from the start. Replaces
    /// an earlier position.
    ///
    /// The page neither repeats nor skips an object when others are created or deleted between two pages. Its position
    /// is that of the values that the object has when the query runs; `cursor(of:)` keeps a position. It costs the same
    /// wherever it is, if the first sort key is a field with an index, or if there are no sort keys, unless a condition
    /// uses the index of another field.
    public func after(_ object: Live<M>?) -> ModelQuery {
        with { ($0.predecessor, $0.query.cursor) = (object, nil) }
    }

    /// Returns the query for the objects after this position; nil means from the start. Replaces an earlier position.
    public func after(_ cursor: RecordCursor?) -> ModelQuery {
        with { ($0.predecessor, $0.query.cursor) = (nil, cursor) }
    }

    /// Returns the query for at most this many objects. A negative number counts as 0.
    public func limit(_ count: Int) -> ModelQuery {
        with { $0.query.limit = count }
    }

    /// Returns the query without its first `count` objects. A negative number counts as 0. For pages, `after` is
    /// faster.
    public func offset(_ count: Int) -> ModelQuery {
        with { $0.query.offset = count }
    }

    private func with(_ change: (inout ModelQuery) -> Void) -> ModelQuery {
        var query = self
        change(&query)
        return query
    }

    private mutating func note(_ error: ModelDeclarationError?) {
        if let error, problem == nil { problem = ModelError(error) }
    }

    // MARK: Running

    /// Returns the matching objects in the order of the query.
    public func all() async throws(ModelError) -> [Live<M>] {
        let (kind, query) = try ready()
        return try await objects.objects(kind, matching: query).map(\.object)
    }

    /// Returns the first matching object, or nil.
    public func first() async throws(ModelError) -> Live<M>? {
        try await limit(min(query.limit ?? 1, 1)).all().first
    }

    /// Returns the matching records as independent values.
    public func snapshots() async throws(ModelError) -> [Snapshot<M>] {
        let (kind, query) = try ready()
        return try await objects.source.records(matching: query).map { record in
            Snapshot(id: record.id, uid: Int(record.uid.rawValue), values: record.values, shape: kind.shape)
        }
    }

    /// Returns the number of objects that meet the condition. Positions, limit, and offset of the query are ignored.
    public func count() async throws(ModelError) -> Int {
        try await objects.source.count(matching: try after(nil as RecordCursor?).ready().query)
    }

    /// Returns the position of an object in the order of this query; nil if its record is not stored.
    public func cursor(of object: Live<M>) -> RecordCursor? {
        guard let kind, let record = object.cell.shown else { return nil }
        return RecordCursor(of: record, orders: query.orders, schema: kind.schema)
    }

    private func ready() throws(ModelError) -> (kind: LiveKind<M>, query: RecordQuery) {
        if let problem { throw problem }
        let kind = try objects.kind(of: M.self)
        var query = query
        if let predecessor {
            guard let cursor = cursor(of: predecessor) else {
                throw ModelError(.invalidValue, "a page cannot begin after \(predecessor): it is not stored")
            }
            query.cursor = cursor
        }
        if let problem = query.problem(in: kind.schema) { throw ModelError(.invalidValue, problem) }
        return (kind, query)
    }

    // MARK: Observing

    /// The matching objects, now and after each change. Equal lists are never repeated.
    public var updates: QueryUpdates<Live<M>> {
        observation { $0.object }
    }

    /// The changes of the matching objects: inserted, removed, moved, and changed.
    public var changes: QueryChanges<M> {
        QueryChanges(
            updates: observation { QueryChanges<M>.Pair(record: ShownRecord($0.record), object: $0.object) },
            schema: kind?.schema)
    }

    private func observation<Object: Sendable>(
        _ body: @escaping @Sendable ((record: Record, object: Live<M>)) -> Object
    ) -> QueryUpdates<Object> {
        QueryUpdates(
            collection: query.collection, changes: objects.changes, isEnded: { [objects] in objects.isEnded },
            read: { [self] () async throws(ModelError) in
                let (kind, query) = try ready()
                return try await objects.objects(kind, matching: query).map { ($0.record, body($0)) }
            })
    }
}

extension ModelQuery: CustomStringConvertible {
    public var description: String {
        var text = "\(query.collection)"
        if let space = query.space { text += " in \(space)" }
        text += " where \(query.filter)"
        let orders = query.orders.map { "\($0.term)\($0.isDescending ? " descending" : "")" }
        text += " sorted by \(orders.joined(separator: ", "))"
        if let limit = query.limit { text += " limit \(limit)" }
        return text
    }
}

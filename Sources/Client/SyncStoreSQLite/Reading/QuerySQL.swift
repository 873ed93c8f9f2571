import SQLiteDatabase
import SyncCore
import SyncModel

/// A query as SQL. Names come from the schema, and values are bound.
struct QuerySQL: Sendable {
    /// The statements whose rows, one after the other, are the records of the query.
    let sections: [Section]
    let count: String
    private let countValues: [FieldValue]
    /// Maximum number of records; −1 for all.
    private let limit: Int64
    private let offset: Int64

    /// One statement. Parameters 1 and 2 are the limit and the offset.
    struct Section: Sendable {
        let sql: String
        fileprivate let values: [FieldValue]
    }

    /// - Parameter lacksValues: returns whether a record lacks the value of an indexed field. If none does, the filter
    ///   and the order can use the index.
    init(
        _ query: RecordQuery, table: RecordTable, lacksValues: (FieldSchema) throws -> Bool = { _ in true }
    ) throws {
        if let problem = query.problem(in: table.model) { throw StoreError(.invalidValue, problem) }
        let indexed = Set(table.model.fields.filter(\.isIndexed).map(\.name))
        var known: [FieldName: Bool] = [:]
        func isComplete(_ name: FieldName) throws -> Bool {
            guard indexed.contains(name), let field = table.model.field(named: name) else { return false }
            if let isComplete = known[name] { return isComplete }
            let isComplete = try !lacksValues(field)
            known[name] = isComplete
            return isComplete
        }
        let keys = try query.orders.total.map { order in
            var key = Key(
                column: FilterSQL.column(order.term), isDescending: order.isDescending, missing: order.missing)
            // An index has missing values at its start, so it gives the order only if none counts as another value.
            if case .field(let name) = order.term, !key.missing.isNull, try isComplete(name) { key.missing = .null }
            return key
        }
        let first = query.orders.total[0].term
        var hasIndexedOrder = false
        if case .field(let name) = first { hasIndexedOrder = indexed.contains(name) && keys[0].missing.isNull }
        // SQLite would prefer the index of the order, with all records of one value, to that of the condition.
        let isSelective = query.filter.isSelective(apartFrom: first) { indexed.contains($0) }
        let parts = hasIndexedOrder && !isSelective ? query.parts(in: table.model) : [query.completeFilter]
        sections = try parts.map { part in
            let filter = try part.withoutNeedlessTests(isComplete)
            let isRange = filter.isRange(apartFrom: first) { indexed.contains($0) }
            return Section(filter, query.space, keys, ordersByIndex: query.limit != nil || !isRange, table)
        }
        var all = FilterSQL(firstParameter: 1)
        let condition = all.condition(try query.filter.withoutNeedlessTests(isComplete), in: query.space)
        count = "SELECT count(*) FROM \(table.quoted)\(Self.clause(condition))"
        countValues = all.values
        limit = query.limit.map { Int64(max($0, 0)) } ?? -1
        offset = Int64(max(query.offset, 0))
    }

    /// Without a condition, SQLite counts rows faster.
    fileprivate static func clause(_ condition: String) -> String {
        condition == "1" ? "" : " WHERE \(condition)"
    }

    /// Runs the statements, and calls `body` with each row of the result.
    func read(on connection: Connection, _ body: (Statement) throws -> Void) throws {
        var (limit, offset) = (limit, offset)
        for (position, section) in sections.enumerated() where limit != 0 {
            let isLast = position == sections.count - 1
            let statement = try connection.statement(composed: section.sql)
            defer { statement.reset() }
            // How many rows an earlier section has is known only after they are read.
            let most = limit < 0 || isLast ? limit : limit + min(offset, .max - limit)
            section.bind(to: statement, limit: most, offset: isLast ? offset : 0)
            while try statement.step() {
                if !isLast, offset > 0 {
                    offset -= 1
                } else {
                    try body(statement)
                    if limit > 0 { limit -= 1 }
                }
            }
        }
    }

    /// Calls `body` with each line of SQLite's plan.
    func explain(on connection: Connection, _ body: (String) -> Void) throws {
        for section in sections {
            let statement = try connection.prepare("EXPLAIN QUERY PLAN " + section.sql)
            defer { statement.reset() }
            section.bind(to: statement, limit: limit, offset: offset)
            while try statement.step() { body(statement.text(3)) }
        }
    }

    func bindCount(to statement: Statement) {
        for (index, value) in countValues.enumerated() { statement.bind(Int32(index + 1), value) }
    }
}

/// One key of an order as SQL.
private struct Key: Sendable {
    let column: String
    let isDescending: Bool
    /// The value as which a missing one counts; null if it counts as missing, or if no value is missing.
    var missing: FieldValue
}

extension QuerySQL.Section {
    /// - Parameter ordersByIndex: whether SQLite may use an index for the order.
    fileprivate init(
        _ filter: RecordFilter, _ space: SpaceID?, _ keys: [Key], ordersByIndex: Bool, _ table: RecordTable
    ) {
        var page = FilterSQL(firstParameter: 3)
        let condition = page.condition(filter, in: space)
        var values = page.values
        var orders: [String] = []
        for key in keys {
            // A term with a plus sign is an expression, which no index gives.
            var order = ordersByIndex ? key.column : "+\(key.column)"
            if !key.missing.isNull {
                values.append(key.missing)
                order = "coalesce(\(key.column), ?\(values.count + 2))"
            }
            orders.append(key.isDescending ? order + " DESC" : order)
        }
        let found = """
            FROM \(table.quoted)\(QuerySQL.clause(condition)) \
            ORDER BY \(orders.joined(separator: ", ")) LIMIT ?1 OFFSET ?2
            """
        // Only the keys are sorted, not whole rows. SQLite runs a cross join in the order of its left side.
        sql =
            ordersByIndex
            ? "SELECT \(table.columns) \(found)"
            : "SELECT \(table.columns) FROM (SELECT sync_row AS sync_key \(found)) CROSS JOIN \(table.quoted) ON sync_row = sync_key"
        self.values = values
    }

    fileprivate func bind(to statement: Statement, limit: Int64, offset: Int64) {
        statement.bind(1, limit)
        statement.bind(2, offset)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 3), value) }
    }
}

extension RecordQuery {
    /// Returns filters for parts of the result: each record matches one, and those of one part come before those of the
    /// next. The first key of the order is a field whose index gives the order.
    ///
    /// After a cursor, each part is one range of the index. As a single filter, SQLite would read the index from its
    /// start, or from the first record with the value of the cursor, so later pages would take longer.
    fileprivate func parts(in schema: ModelSchema) -> [RecordFilter] {
        let keys = orders.total
        guard let cursor, let value = cursor.values.first, case .field(let name) = keys[0].term,
            let field = schema.field(named: name),
            let rest = RecordCursor(values: Array(cursor.values.dropFirst())).filter(orders: Array(keys.dropFirst()))
        else { return [completeFilter] }
        let (term, isDescending) = (keys[0].term, keys[0].isDescending)
        var parts = [.compare(term, .equal, value) && rest]
        switch (value.isNull, isDescending) {
        case (true, true): break
        // SQLite does not search an index by IS NOT NULL.
        case (true, false): parts.append(.compare(term, .greaterOrEqual, field.type.least))
        case (false, false): parts.append(.compare(term, .greater, value))
        case (false, true):
            parts.append(.compare(term, .less, value))
            if keys[0].missing.isNull { parts.append(.compare(term, .equal, .null)) }
        }
        // Of two ranges of one field, SQLite searches by the first.
        return parts.map { $0 && filter }
    }
}

extension FieldType {
    /// The least value of a field of this type.
    fileprivate var least: FieldValue {
        switch self {
        case .boolean: .boolean(false)
        case .integer: .integer(.min)
        case .real: .real(-.greatestFiniteMagnitude)
        case .text: .text("")
        case .json: .json("")
        case .reference: .reference(RecordID(bits: Identifier128(high: 0, low: 0)))
        }
    }
}

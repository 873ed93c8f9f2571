import SQLiteDatabase
import SyncCore
import SyncModel

/// A query as SQL. Names come from the schema, and values are bound.
struct QuerySQL: Sendable {
    let select: String
    let count: String
    private let selectValues: [FieldValue]
    private let countValues: [FieldValue]
    private let limit: Int64
    private let offset: Int64

    /// - Parameter lacksValues: returns whether a record lacks the value of an indexed field. If none does, the order can use
    ///   the index.
    init(
        _ query: RecordQuery, table: RecordTable, lacksValues: (FieldSchema) throws -> Bool = { _ in true }
    ) throws {
        if let problem = query.problem(in: table.model) { throw StoreError(.invalidValue, problem) }
        // Parameters 1 and 2 are the limit and the offset.
        var page = FilterSQL(firstParameter: 3)
        let pageCondition = page.condition(query.completeFilter)
        var all = FilterSQL(firstParameter: 1)
        let condition = all.condition(query.filter)
        var missing: [FieldValue] = []
        let orders = try query.orders.total.map { order in
            var key = FilterSQL.column(order.term)
            if case .field(let name) = order.term, !order.missing.isNull, let field = table.model.field(named: name),
                try !field.isIndexed || lacksValues(field)
            {
                missing.append(order.missing)
                key = "coalesce(\(key), ?\(page.values.count + missing.count + 2))"
            }
            return key + (order.isDescending ? " DESC" : "")
        }
        select = """
            SELECT \(table.columns) FROM \(table.quoted)\(Self.clause(pageCondition)) \
            ORDER BY \(orders.joined(separator: ", ")) LIMIT ?1 OFFSET ?2
            """
        count = "SELECT count(*) FROM \(table.quoted)\(Self.clause(condition))"
        selectValues = page.values + missing
        countValues = all.values
        limit = query.limit.map { Int64(max($0, 0)) } ?? -1
        offset = Int64(max(query.offset, 0))
    }

    /// Without a condition, SQLite counts rows faster.
    private static func clause(_ condition: String) -> String {
        condition == "1" ? "" : " WHERE \(condition)"
    }

    func bindSelect(to statement: Statement) {
        statement.bind(1, limit)
        statement.bind(2, offset)
        for (index, value) in selectValues.enumerated() { statement.bind(Int32(index + 3), value) }
    }

    func bindCount(to statement: Statement) {
        for (index, value) in countValues.enumerated() { statement.bind(Int32(index + 1), value) }
    }
}

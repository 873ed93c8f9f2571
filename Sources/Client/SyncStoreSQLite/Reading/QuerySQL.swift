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

    init(_ query: RecordQuery, table: RecordTable) throws(StoreError) {
        if let problem = query.problem(in: table.model) { throw StoreError(.invalidValue, problem) }
        // Parameters 1 and 2 are the limit and the offset.
        var page = FilterSQL(firstParameter: 3)
        let pageCondition = page.condition(query.completeFilter)
        var all = FilterSQL(firstParameter: 1)
        let condition = all.condition(query.filter)
        let orders = query.orders.total.map { FilterSQL.column($0.term) + ($0.isDescending ? " DESC" : "") }
        select = """
            SELECT \(table.columns) FROM \(table.quoted)\(Self.clause(pageCondition)) \
            ORDER BY \(orders.joined(separator: ", ")) LIMIT ?1 OFFSET ?2
            """
        count = "SELECT count(*) FROM \(table.quoted)\(Self.clause(condition))"
        selectValues = page.values
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

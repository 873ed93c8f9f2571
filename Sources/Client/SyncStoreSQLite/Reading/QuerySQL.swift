import SQLiteDatabase
import SyncCore
import SyncModel

/// A query as SQL. Names come from the schema; values are bound.
struct QuerySQL: Sendable {
    let select: String
    let count: String
    private let values: [FieldValue]
    private let limit: Int64
    private let offset: Int64

    init(_ query: RecordQuery, table: RecordTable) throws(StoreFailure) {
        var terms: [String] = []
        var values: [FieldValue] = []
        for condition in query.conditions {
            guard let field = table.model.field(named: condition.field) else {
                throw Self.unknown(condition.field, table)
            }
            guard condition.equals.type == nil || condition.equals.type == field.type else {
                throw StoreFailure(
                    .invalidValue,
                    "\(table.name).\(field.name) holds \(field.type.rawValue), and was compared with another type")
            }
            values.append(condition.equals)
            terms.append("\(RecordTable.quote(field.name.rawValue)) IS ?\(values.count + 2)")
        }
        let filter = terms.isEmpty ? "" : " WHERE " + terms.joined(separator: " AND ")
        let order: String
        switch query.order {
        case .id: order = "id"
        case .uid: order = "uid, id"
        case .field(let name):
            guard table.model.field(named: name) != nil else { throw Self.unknown(name, table) }
            order = "\(RecordTable.quote(name.rawValue)), id"
        }
        // Both statements have parameters for the limits, so that the values have the same parameter numbers.
        select = "SELECT \(table.columns) FROM \(table.quoted)\(filter) ORDER BY \(order) LIMIT ?1 OFFSET ?2"
        count = "SELECT count(*), ?1, ?2 FROM \(table.quoted)\(filter)"
        self.values = values
        limit = query.limit.map { Int64(max($0, 0)) } ?? -1
        offset = Int64(max(query.offset, 0))
    }

    private static func unknown(_ field: FieldName, _ table: RecordTable) -> StoreFailure {
        StoreFailure(.invalidValue, "\(table.name).\(field): there is no such field")
    }

    func bind(to statement: Statement) {
        statement.bind(1, limit)
        statement.bind(2, offset)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 3), value) }
    }
}

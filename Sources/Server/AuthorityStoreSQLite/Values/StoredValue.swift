import SQLiteDatabase

/// A value that a statement of the authority's store binds.
enum StoredValue: Sendable {
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

extension Statement {
    func bind(_ index: Int32, _ value: StoredValue?) {
        switch value {
        case .integer(let value): bind(index, value)
        case .text(let value): bind(index, value)
        case .blob(let value): bind(index, blob: value)
        case nil: bindNull(index)
        }
    }
}

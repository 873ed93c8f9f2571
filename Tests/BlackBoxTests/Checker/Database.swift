import CSQLite

/// Reads a database file directly with SQL, because the checker must not use the code that it checks.
final class Database {
    private let handle: OpaquePointer
    private let path: String

    /// - Parameter isWritable: Whether the database can be written, to plant faults.
    init(_ path: String, isWritable: Bool = false) throws {
        var handle: OpaquePointer?
        let flags = isWritable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
            sqlite3_close_v2(handle)
            throw UnmetConditionError("the checker cannot open \(path)")
        }
        self.handle = handle
        self.path = path
        // A process that is stopped while it opens the database keeps it locked until it continues.
        sqlite3_busy_timeout(handle, Int32(Duration.processTimeout.components.seconds * 1_000))
    }

    deinit { sqlite3_close_v2(handle) }

    /// The value of one column of a row.
    enum Value: Hashable, Sendable {
        case null
        case integer(Int64)
        case text(String)
    }

    struct Row {
        let values: [Value]

        func text(_ column: Int) -> String? {
            if case .text(let text) = values[column] { text } else { nil }
        }

        func integer(_ column: Int) -> Int64? {
            if case .integer(let number) = values[column] { number } else { nil }
        }
    }

    /// Returns the rows of one statement. Blobs must be selected as `hex(…)`.
    @discardableResult
    func rows(_ sql: String) throws -> [Row] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(sql) }
        defer { sqlite3_finalize(statement) }
        var rows: [Row] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_DONE: return rows
            case SQLITE_ROW:
                rows.append(
                    Row(
                        values: (0..<sqlite3_column_count(statement)).map { column in
                            switch sqlite3_column_type(statement, column) {
                            case SQLITE_NULL: .null
                            case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, column))
                            default: .text(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
                            }
                        }))
            default: throw failure(sql)
            }
        }
    }

    /// Runs reads in one transaction, so that they see the same state.
    func snapshot<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try rows("BEGIN")
        defer { _ = try? rows("ROLLBACK") }
        return try body(self)
    }

    private func failure(_ sql: String) -> UnmetConditionError {
        UnmetConditionError("\(path): \(String(cString: sqlite3_errmsg(handle))): \(sql)")
    }
}

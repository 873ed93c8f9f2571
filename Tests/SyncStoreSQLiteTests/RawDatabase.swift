import CSQLite
import SyncCore

/// Accesses a database file directly, because a check must not use the code that it checks.
final class RawDatabase {
    private let handle: OpaquePointer

    init(_ path: String) throws {
        var handle: OpaquePointer?
        guard
            sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, nil)
                == SQLITE_OK,
            let handle
        else { throw StoreError(.inputOutput, "the checker could not open \(path)") }
        self.handle = handle
        sqlite3_busy_timeout(handle, 5_000)
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// Runs SQL and returns the rows, with their columns joined by `|`.
    @discardableResult
    func run(_ sql: String) throws -> [String] {
        var rows: [String] = []
        var rest: UnsafePointer<CChar>? = nil
        try sql.withCString { text in
            rest = text
            while let next = rest, next.pointee != 0 {
                var statement: OpaquePointer?
                guard sqlite3_prepare_v2(handle, next, -1, &statement, &rest) == SQLITE_OK else { throw failure(sql) }
                defer { sqlite3_finalize(statement) }
                guard let statement else { continue }
                var code = sqlite3_step(statement)
                while code == SQLITE_ROW {
                    let columns = (0..<sqlite3_column_count(statement)).map { column in
                        sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "NULL"
                    }
                    rows.append(columns.joined(separator: "|"))
                    code = sqlite3_step(statement)
                }
                guard code == SQLITE_DONE else { throw failure(sql) }
            }
        }
        return rows
    }

    private func failure(_ sql: String) -> StoreError {
        StoreError(.inputOutput, "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
    }
}

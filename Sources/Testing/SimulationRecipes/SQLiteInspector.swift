import CFaultVFS
import SyncSimulation

/// A minimal reader of a database, on SQLite's C interface instead of the code under test.
///
/// Keep an inspector as long as its process lives. SQLite then reads the schema only once, and reading the schema takes
/// longer than any other read of a small database. An inspector holds no lock between reads.
final class SQLiteInspector {
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(_ path: String, on process: DiskProcess) throws {
        let code = withExtendedLifetime(process) {
            sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, process.vfsName)
        }
        guard code == SQLITE_OK else {
            sqlite3_close_v2(handle)
            throw Failure(description: "\(path) cannot be opened: SQLite error \(code)")
        }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// One row of a result.
    struct Row {
        fileprivate let statement: OpaquePointer

        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
        func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }
        func bytes(_ column: Int32) -> [UInt8] {
            guard let start = sqlite3_column_blob(statement, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }

    func each(_ sql: String, _ body: (Row) throws -> Void) throws {
        let statement = try statement(sql)
        defer { sqlite3_reset(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: try body(Row(statement: statement))
            case SQLITE_DONE: return
            default: throw failure(sql)
            }
        }
    }

    private func statement(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw failure(sql) }
        statements[sql] = statement
        return statement
    }

    private func failure(_ sql: String) -> Failure {
        Failure(description: "\(String(cString: sqlite3_errmsg(handle))) in \(sql.prefix(60))")
    }
}

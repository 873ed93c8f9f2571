import CFaultVFS
import SyncSimulation

/// A thin wrapper around SQLite's C API, independent of the production code.
final class RawConnection {
    private var handle: OpaquePointer?

    struct Failure: Error, Equatable, CustomStringConvertible {
        /// SQLite's primary result code.
        let code: Int32
        let message: String

        var description: String { "\(code): \(message)" }
    }

    init(_ path: String, on process: DiskProcess, readOnly: Bool = false) throws {
        let flags = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let code = withExtendedLifetime(process) { sqlite3_open_v2(path, &handle, flags, process.vfsName) }
        guard code == SQLITE_OK else {
            sqlite3_close_v2(handle)
            throw Failure(code: code & 0xFF, message: "cannot open \(path)")
        }
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    func run(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw Failure(code: code & 0xFF, message: "\(String(cString: sqlite3_errmsg(handle))) in \(sql.prefix(60))")
        }
    }

    /// Returns the first column of all rows as text, with "NULL" for null.
    func texts(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        let prepared = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard prepared == SQLITE_OK else {
            throw Failure(code: prepared & 0xFF, message: String(cString: sqlite3_errmsg(handle)))
        }
        var rows: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
            case SQLITE_DONE: return rows
            case let code: throw Failure(code: code & 0xFF, message: String(cString: sqlite3_errmsg(handle)))
            }
        }
    }

    func integer(_ sql: String) throws -> Int {
        try Int(texts(sql).first ?? "") ?? -1
    }
}

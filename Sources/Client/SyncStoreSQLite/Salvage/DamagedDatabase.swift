import SQLiteDatabase
import SyncCore
import SyncModel

/// A reader of a copy of a damaged database, which finds the rows around the damage.
final class DamagedDatabase {
    private let connection: Connection

    /// Opens the file even if its header or schema is damaged.
    init(_ path: String) throws {
        connection = try Connection(opening: DatabaseURI.make(path), busyTimeout: .zero)
        // A partly unreadable schema or a file that is too short must not stop the reading. No code in the file's own
        // schema is trusted.
        try connection.execute(
            """
            PRAGMA writable_schema = ON; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;
            PRAGMA locking_mode = EXCLUSIVE
            """)
    }

    /// Whether the table exists, as far as the schema can be read.
    func has(_ table: String) -> Bool {
        (try? connection.prepare("SELECT * FROM \(table) LIMIT 1")) != nil
    }

    /// Restores the names and definitions of the fixed tables whose rows in the schema are only partly damaged. The
    /// copy must be opened again afterward.
    func repairSchema() throws {
        let reference = try Connection(opening: ":memory:", busyTimeout: .zero)
        try Writer.migrations.run(on: reference, "a new database")
        let tables = try reference.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").rows {
            (name: $0.text(0), sql: $0.text(1))
        }
        // SQLite reports a malformed schema once, and then uses the part of it that it can read.
        _ = try? connection.prepare("SELECT 1 FROM sqlite_schema")
        let rows = try connection.prepare("SELECT rowid, type, name, tbl_name, sql FROM sqlite_schema").rows {
            (row: $0.integer(0), texts: (1...4).map($0.text))
        }
        let update = try connection.prepare(
            "UPDATE sqlite_schema SET type = 'table', name = ?2, tbl_name = ?2, sql = ?3 WHERE rowid = ?1")
        for table in tables {
            let wanted = ["table", table.name, table.name, table.sql]
            if rows.contains(where: { $0.texts == wanted }) { continue }
            // The table's own row still has at least two of these four texts. The row of one of its indexes has only
            // one of them, the table's name.
            guard let damaged = rows.first(where: { zip($0.texts, wanted).count { $0 == $1 } >= 2 }) else { continue }
            update.bind(1, damaged.row)
            update.bind(2, table.name)
            update.bind(3, table.sql)
            try update.run()
        }
    }

    /// Returns the first column of a query's first row; nil when it cannot be read or is not an integer.
    func integer(_ sql: String) -> Int64? {
        guard let statement = try? connection.prepare(sql) else { return nil }
        defer { statement.reset() }
        guard (try? statement.step()) == true else { return nil }
        return statement.isInteger(0) ? statement.integer(0) : nil
    }

    /// Returns the names of a table's columns, in their order; nil when the table cannot be found.
    func columns(of table: String) -> [String]? {
        guard let statement = try? connection.prepare("SELECT * FROM \(table) LIMIT 0") else { return nil }
        return (0..<statement.columnCount).map { statement.columnName($0) }
    }

    /// Whether the tables of records are as in another database: the same columns in the same order, at the same pages.
    /// False if they cannot be read.
    func hasTables(like other: Connection) throws -> Bool {
        let wanted = try StoredModels.placedColumns(in: other)
        return (try? StoredModels.placedColumns(in: connection)) == wanted
    }

    /// Whether SQLite can visit all rows of a table. Only their keys are read.
    func isWhole(_ table: String, by key: String) -> Bool {
        (try? walk("SELECT \(key) FROM \(table) WHERE \(key) > ?1 ORDER BY \(key)", from: 0, key) { _, _ in true })
            ?? false
    }

    /// Calls `body` once for each row that can be read.
    ///
    /// - Parameters:
    ///   - key: the table's integer key, whose values are positive.
    ///   - columns: the columns to read, which include the key.
    ///   - last: the largest possible key; nil when it is not known.
    /// - Returns: whether SQLite found no damage.
    func forEachRow(
        of table: String, by key: String, columns: String = "*", last: Int64? = nil,
        _ body: (DamagedRow) throws -> Void
    ) throws -> Bool {
        let rows = "SELECT \(columns) FROM \(table) WHERE \(key)"
        // The last keys that were read in each direction, and the keys before them.
        var (low, beforeLow): (Int64, Int64) = (0, 0)
        var (high, beforeHigh) = (FilePage.largestKey, FilePage.largestKey)
        // A key out of order ends a direction. The key before it may be the damaged one, so the search between the two
        // directions begins before that one, and leaves out its row.
        var suspects: Set<Int64> = []
        let isWhole = try walk("\(rows) > ?1 ORDER BY \(key)", from: 0, key) { row, found in
            guard found < FilePage.largestKey else { return false }
            guard found > low else {
                suspects.insert(low)
                low = beforeLow
                return false
            }
            (low, beforeLow) = (found, low)
            try body(row)
            return true
        }
        if isWhole { return true }
        let isJoined = try walk("\(rows) > ?1 ORDER BY \(key) DESC", from: low, key) { row, found in
            guard found > low, found < high else {
                suspects.insert(high)
                high = beforeHigh
                return false
            }
            (high, beforeHigh) = (found, high)
            if !suspects.contains(found) { try body(row) }
            return true
        }
        // Rows that neither direction reached are looked up one by one.
        guard !isJoined, let single = try? connection.prepare("\(rows) = ?1") else { return false }
        let end = high < FilePage.largestKey ? high : max(last ?? low, low) + 1
        for next in low + 1..<max(min(end, low + 1 + Self.mostProbes), low + 1) where !suspects.contains(next) {
            single.bind(1, next)
            defer { single.reset() }
            if (try? single.step()) == true { try body(DamagedRow(single)) }
        }
        return false
    }

    /// Calls `body` for the rows with a given number in a column, up to the first damage.
    ///
    /// - Returns: whether all of them could be read.
    func forEachRow(
        of table: String, where column: String, is number: Int64, _ body: (DamagedRow) throws -> Void
    ) throws -> Bool {
        try walk("SELECT * FROM \(table) WHERE \(column) = ?1", from: number, column) { row, _ in
            try body(row)
            return true
        }
    }

    /// Calls `body` for the rows of a table without an integer key, from both ends of the table up to the first damage.
    /// It may get a row twice, once from each end.
    ///
    /// - Returns: whether all of them could be read.
    func forEachRow(of table: String, orderedBy keys: [String], _ body: (DamagedRow) throws -> Void) throws -> Bool {
        if try walk("SELECT * FROM \(table) ORDER BY \(keys.joined(separator: ", "))", body) { return true }
        let backward = keys.map { "\($0) DESC" }.joined(separator: ", ")
        _ = try walk("SELECT * FROM \(table) ORDER BY \(backward)", body)
        return false
    }

    private func walk(_ sql: String, _ body: (DamagedRow) throws -> Void) throws -> Bool {
        guard let statement = try? connection.prepare(sql) else { return false }
        defer { statement.reset() }
        while true {
            let isRow: Bool
            do { isRow = try statement.step() } catch { return false }
            guard isRow else { return true }
            try body(DamagedRow(statement))
        }
    }

    /// Maximum number of keys looked up one by one: more than an outbox and a journal hold.
    private static let mostProbes: Int64 = 1_000_000

    /// Calls `body` for the rows of a statement, up to the first damage.
    ///
    /// - Parameter body: returns false to end the walk, for a key that is not in order: its page occurs twice.
    /// - Returns: whether the last row was reached.
    private func walk(
        _ sql: String, from start: Int64, _ key: String,
        _ body: (DamagedRow, Int64) throws -> Bool
    ) throws -> Bool {
        guard let statement = try? connection.prepare(sql) else { return false }
        defer { statement.reset() }
        statement.bind(1, start)
        while true {
            let isRow: Bool
            do { isRow = try statement.step() } catch { return false }
            guard isRow else { return true }
            let row = DamagedRow(statement)
            guard let found = row.integer(key), try body(row, found) else { return false }
        }
    }
}

/// A row as it was found. A value is nil if it is missing or has another type than requested.
struct DamagedRow {
    private let statement: Statement

    init(_ statement: Statement) {
        self.statement = statement
    }

    private func column(_ name: String) -> Int32? {
        (0..<statement.columnCount).first { statement.columnName($0) == name }
    }

    func has(_ name: String) -> Bool { column(name) != nil }

    /// Returns the row of a record, whose columns are those of its table; nil when a value cannot be read.
    func stored(in table: RecordTable) -> StoredRow? {
        guard let row = try? table.row(statement), row.record.version >= .zero,
            row.record.fieldVersions.allSatisfy({ $0 >= .zero }),
            // An edit of the record stores these values as JSON, in its base.
            (try? StoredForm.bytes(of: row.record.patch(schema: table.model))) != nil
        else { return nil }
        return row
    }

    /// Binds a value, unchanged, to a parameter of another statement.
    func bind(_ name: String, to other: Statement, at index: Int32) {
        guard let column = column(name) else { return }
        other.bind(index, valueOf: statement, column)
    }

    func integer(_ name: String) -> Int64? {
        column(name).flatMap { statement.isInteger($0) ? statement.integer($0) : nil }
    }

    /// Returns a text; nil when it is not UTF-8.
    func text(_ name: String) -> String? {
        bytes(name).flatMap { String(validating: $0, as: UTF8.self) }
    }

    func bytes(_ name: String) -> [UInt8]? {
        column(name).flatMap { statement.isNull($0) ? nil : statement.bytes($0) }
    }
}

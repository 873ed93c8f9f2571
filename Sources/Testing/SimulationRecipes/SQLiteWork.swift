import CFaultVFS
import SyncConcurrency

/// A counter of the steps of SQLite's virtual machine on one database. Unlike time, the count is the same in each run.
///
/// A counter covers the connections that are opened while the counter exists.
package final class SQLiteWork {
    private let file: String

    /// The steps by file and statement. All counters share them: SQLite's hook for new connections applies to the whole
    /// process, in which other tests run, too.
    private static let steps = Guarded([String: [String: Int]]())
    private static let isHooked: Bool = {
        // The arguments are the connection, an error message to set, and the functions for loaded extensions.
        let entry: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32 = { connection, _, _ in
            SQLiteWork.watch(connection)
            return SQLITE_OK
        }
        return sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self)) == SQLITE_OK
    }()

    package init(file: String) {
        precondition(Self.isHooked, "SQLite did not accept the hook for new connections")
        self.file = file
        Self.steps.withLock { $0[file] = [:] }
    }

    deinit {
        Self.steps.withLock { _ = $0.removeValue(forKey: file) }
    }

    /// Returns the steps of each statement since the last call.
    package func take() -> [String: Int] {
        Self.steps.withLock { steps in
            defer { steps[file] = [:] }
            return steps[file] ?? [:]
        }
    }

    private static func watch(_ connection: OpaquePointer?) {
        guard let file = file(of: connection), steps.withLock({ $0[file] != nil }) else { return }
        sqlite3_trace_v2(
            connection, UInt32(SQLITE_TRACE_PROFILE),
            { _, _, statement, _ in
                SQLiteWork.count(OpaquePointer(statement))
                return 0
            }, nil)
    }

    private static func count(_ statement: OpaquePointer?) {
        guard let file = file(of: sqlite3_db_handle(statement)), let sql = sqlite3_sql(statement) else { return }
        let count = Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1))
        let text = String(cString: sql)
        steps.withLock { $0[file]?[text, default: 0] += count }
    }

    private static func file(of connection: OpaquePointer?) -> String? {
        sqlite3_db_filename(connection, "main").map { String(cString: $0) }
    }

    /// The growth of the work per record with the number of records. Work that is done once per page hardly affects the
    /// result.
    package struct Growth: CustomStringConvertible {
        /// The growth factor: 1 when the work per record is constant; infinite when the smaller measurement counted
        /// nothing.
        package let factor: Double
        package let description: String

        /// Measures the steps with `count` records and with `times` times as many.
        ///
        /// - Parameter steps: returns the steps of each statement for a number of records.
        package init(from count: Int, times: Int, _ steps: (Int) throws -> [String: Int]) rethrows {
            let few = try steps(count)
            let many = try steps(count * times)
            let total = (few: few.values.reduce(0, +), many: many.values.reduce(0, +))
            func growth(_ sql: String) -> Int { many[sql, default: 0] - times * few[sql, default: 0] }
            let steepest = many.keys.max { growth($0) < growth($1) } ?? "no statement"
            factor = total.few > 0 ? Double(total.many) / Double(times * total.few) : .infinity
            description = "\(total.few) steps, \(total.many) with \(times) times as many; most of all in \(steepest)"
        }
    }
}

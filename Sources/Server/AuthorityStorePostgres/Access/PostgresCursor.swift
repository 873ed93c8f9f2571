import AuthorityStoreSQL
import CPostgres

/// The rows of a query that is running, one at a time. Values are in PostgreSQL's binary format.
final class PostgresCursor: SQLCursor {
    private let wire: PostgresWire
    /// The result that holds the current row.
    private var row: OpaquePointer?
    private var isAtEnd = false

    init(_ wire: PostgresWire) {
        self.wire = wire
    }

    func step() throws -> Bool {
        guard !isAtEnd else { return false }
        clear()
        guard let result = try wire.next() else {
            isAtEnd = true
            return false
        }
        row = result
        switch PQresultStatus(result) {
        case PGRES_SINGLE_TUPLE: return true
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
            finish()
            return false
        default:
            let error = PostgresError(result, on: wire.handle)
            finish()
            throw error
        }
    }

    /// Reads the rest of the rows, after which the connection is free for the next statement.
    func finish() {
        clear()
        isAtEnd = true
        // An error here means that the connection is lost. The next statement on it then throws.
        while let result = try? wire.next() { PQclear(result) }
    }

    private func clear() {
        PQclear(row)
        row = nil
    }

    deinit {
        PQclear(row)
    }

    // MARK: Columns

    func isNull(_ column: Int32) -> Bool { PQgetisnull(row, 0, column) == 1 }

    func integer(_ column: Int32) -> Int64 {
        withBytes(column) { bytes in bytes.reduce(0) { $0 << 8 | Int64($1) } }
    }

    func text(_ column: Int32) -> String { withBytes(column) { String(decoding: $0, as: UTF8.self) } }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { Array($0) } }

    func withBytes<Result, Failure: Error>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: PQgetvalue(row, 0, column), count: Int(PQgetlength(row, 0, column))))
    }
}

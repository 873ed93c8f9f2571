import AuthorityStoreSQL
import CPostgres
import SyncConcurrency

/// A connection to PostgreSQL, through libpq. Its calls block the thread.
///
/// `PostgresPool` lends a connection to one caller at a time, so that nobody waits for its lock.
final class PostgresConnection: Sendable {
    private struct State {
        let handle: OpaquePointer
        /// The names of the prepared statements, by their SQL.
        var statements: [String: String] = [:]
    }

    private let state: Guarded<State>

    /// Connects.
    ///
    /// - Parameter parameters: libpq's, by keyword. Later ones win. `dbname` may be a whole connection string.
    init(_ parameters: [(keyword: String, value: String)]) throws(PostgresError) {
        let connection = Self.withCStrings(parameters.map(\.keyword)) { keywords in
            Self.withCStrings(parameters.map(\.value)) { values in PQconnectdbParams(keywords, values, 1) }
        }
        guard let connection else { throw PostgresError(connection: nil) }
        guard PQstatus(connection) == CONNECTION_OK else {
            defer { PQfinish(connection) }
            throw PostgresError(connection: connection)
        }
        // Notices, such as "schema exists, skipping", would go to the standard error.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        state = Guarded(State(handle: connection))
    }

    deinit {
        state.withLock { PQfinish($0.handle) }
    }

    /// Whether the connection is lost. It stays lost.
    var isLost: Bool { state.withLock { PQstatus($0.handle) != CONNECTION_OK } }

    // MARK: Notifications

    /// The descriptor of the connection, for `poll`.
    var socket: Int32 { state.withLock { PQsocket($0.handle) } }

    /// Returns the payloads of the notifications that have arrived. Does not wait.
    func notifications() throws(PostgresError) -> [String] {
        try state.withLock { (state) throws(PostgresError) in
            guard PQconsumeInput(state.handle) == 1 else { throw PostgresError(connection: state.handle) }
            var payloads: [String] = []
            while let notification = PQnotifies(state.handle) {
                defer { PQfreemem(notification) }
                payloads.append(String(cString: notification.pointee.extra))
            }
            return payloads
        }
    }

    // MARK: Statements

    /// Runs one or more statements without values, in one round trip.
    ///
    /// - Returns: the tag of the last one, such as `COMMIT`.
    @discardableResult
    func run(_ sql: String) throws(PostgresError) -> String {
        try state.withLock { (state) throws(PostgresError) in
            let result = PQexec(state.handle, sql)
            defer { PQclear(result) }
            try Self.check(result, state.handle)
            return PQcmdStatus(result).map { String(cString: $0) } ?? ""
        }
    }

    /// Runs a prepared statement to its end.
    ///
    /// - Returns: the number of rows that it changed.
    func execute(_ sql: String, _ values: [StoredValue?]) throws(PostgresError) -> Int {
        try state.withLock { (state) throws(PostgresError) in
            let name = try Self.prepared(sql, &state)
            let result = PostgresParameters(values).with { count, pointers, lengths, formats in
                PQexecPrepared(state.handle, name, count, pointers, lengths, formats, 1)
            }
            defer { PQclear(result) }
            try Self.check(result, state.handle)
            return PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        }
    }

    /// Runs a prepared query, and calls `body` with its rows, which arrive one at a time.
    ///
    /// A page of large records is thus never in memory as a whole. The rows that `body` leaves are read and dropped.
    func query<Value: Sendable>(
        _ sql: String, _ values: [StoredValue?], _ body: @Sendable (PostgresCursor) throws -> Value
    ) throws -> Value {
        try state.withLock { state in
            let name = try Self.prepared(sql, &state)
            let isSent = PostgresParameters(values).with { count, pointers, lengths, formats in
                PQsendQueryPrepared(state.handle, name, count, pointers, lengths, formats, 1)
            }
            guard isSent == 1, PQsetSingleRowMode(state.handle) == 1 else {
                throw PostgresError(connection: state.handle)
            }
            let cursor = PostgresCursor(state.handle)
            defer { cursor.finish() }
            return try body(cursor)
        }
    }

    private static func check(_ result: OpaquePointer?, _ handle: OpaquePointer) throws(PostgresError) {
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else { throw PostgresError(result, on: handle) }
    }

    /// Returns the name of the prepared statement of `sql`.
    private static func prepared(_ sql: String, _ state: inout State) throws(PostgresError) -> String {
        if let name = state.statements[sql] { return name }
        let name = "s\(state.statements.count)"
        let result = PQprepare(state.handle, name, sql, 0, nil)
        defer { PQclear(result) }
        try check(result, state.handle)
        state.statements[sql] = name
        return name
    }

    /// Calls `body` with a null-terminated array of C strings.
    private static func withCStrings<Result>(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        var bytes: [CChar] = []
        var offsets: [Int] = []
        for text in texts {
            offsets.append(bytes.count)
            bytes.append(contentsOf: text.utf8CString)
        }
        return bytes.withUnsafeBufferPointer { bytes in
            let pointers = offsets.map { offset in bytes.baseAddress.map { $0 + offset } }
            return body(pointers + [nil])
        }
    }
}

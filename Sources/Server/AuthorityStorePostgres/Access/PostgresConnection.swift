import AuthorityStoreSQL
import CPostgres
import SyncAuthority
import SyncConcurrency

/// A connection to PostgreSQL, through libpq. Its calls block the thread.
///
/// `PostgresPool` lends a connection to one caller at a time, so no caller waits for the lock of a connection.
final class PostgresConnection: Sendable {
    private struct State {
        let wire: PostgresWire
        /// The names of the prepared statements, by their SQL.
        var statements: [String: String] = [:]
    }

    private let state: Guarded<State>

    /// Opens a connection to the server that takes writes, of those that the configuration leads to. If none takes
    /// writes, it is a connection to one that does not.
    ///
    /// The others may be behind that server. A list of hosts, a name with several addresses, or an address that moves
    /// can lead to them, for example after a failover.
    static func toPrimary(_ configuration: PostgresConfiguration) throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(configuration)
        guard try connection.isReadOnly() else { return connection }
        return (try? PostgresConnection(configuration, takingWrites: true)) ?? connection
    }

    /// Opens a connection as the configuration says.
    ///
    /// - Parameter takingWrites: Whether only a server that takes writes will do.
    /// - Throws: `unstorable` when the session does not have the settings of the configuration.
    init(_ configuration: PostgresConfiguration, takingWrites: Bool = false) throws(PostgresError) {
        var parameters = configuration.parameters
        if takingWrites { parameters.append(("target_session_attrs", "read-write")) }
        let connection = Self.withCStrings(parameters.map(\.keyword)) { keywords in
            Self.withCStrings(parameters.map(\.value)) { values in PQconnectdbParams(keywords, values, 1) }
        }
        guard let connection else { throw PostgresError(connection: nil) }
        guard PQstatus(connection) == CONNECTION_OK else {
            defer { PQfinish(connection) }
            throw PostgresError(connection: connection)
        }
        // By default, libpq writes notices, such as "schema exists, skipping", to standard error.
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
        state = Guarded(State(wire: PostgresWire(connection, silenceLimit: configuration.silenceLimit)))
        try checkSettings(configuration)
    }

    /// Throws if the session does not have the settings that were asked for.
    ///
    /// A pooler may drop them. The session would then use the tables of another schema, or confirm commits that are not
    /// flushed.
    func checkSettings(_ configuration: PostgresConfiguration) throws(PostgresError) {
        let differences = configuration.settings.map { setting in
            let value = "current_setting('\(setting.name)')"
            return setting.isTime
                ? "\(value)::interval <> '\(setting.value) milliseconds'::interval" : "\(value) <> '\(setting.value)'"
        }
        guard try run("SELECT WHERE \(differences.joined(separator: " OR "))") == "SELECT 0" else {
            throw PostgresError(
                .unstorable,
                "the connection does not keep its settings (\(configuration.settings.map(\.name).joined(separator: ", "))): a pooler drops them; connect to PostgreSQL itself, or let the pooler keep the parameter options"
            )
        }
    }

    /// Whether the connection is lost. A lost connection stays lost.
    var isLost: Bool { state.withLock { $0.wire.isLost } }

    // MARK: Notifications

    /// The descriptor of the connection, for `poll`.
    var socket: Int32 { state.withLock { PQsocket($0.wire.handle) } }

    /// Returns the payloads of the notifications that have arrived. Does not wait.
    func notifications() throws(PostgresError) -> [String] {
        try state.withLock { (state) throws(PostgresError) in
            let handle = state.wire.handle
            guard PQconsumeInput(handle) == 1 else { throw PostgresError(connection: handle) }
            var payloads: [String] = []
            while let notification = PQnotifies(handle) {
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
            let result = try state.wire.results { PQsendQuery($0, sql) }
            defer { PQclear(result) }
            return PQcmdStatus(result).map { String(cString: $0) } ?? ""
        }
    }

    /// A query that has one row if the session's server takes no writes, and otherwise none. As the last statement of
    /// `run`, its tag is `readOnlyTag` in the first case.
    static let readOnlyQuery: StaticString =
        "SELECT WHERE pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
    static let readOnlyTag = "SELECT 1"

    /// Returns whether the server takes no writes.
    func isReadOnly() throws(PostgresError) -> Bool { try run(Self.readOnlyQuery.description) == Self.readOnlyTag }

    /// Runs a prepared statement to its end.
    ///
    /// - Returns: the number of rows that it changed.
    func execute(_ sql: String, _ values: [StoredValue?]) throws(PostgresError) -> Int {
        try state.withLock { (state) throws(PostgresError) in
            let name = try Self.prepared(sql, &state)
            let result = try state.wire.results { PostgresParameters(values).send(to: name, $0) }
            defer { PQclear(result) }
            return PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
        }
    }

    /// Runs a prepared query, and calls `body` with its rows, which arrive one at a time.
    ///
    /// libpq therefore never holds a whole page of large records. The rows that `body` does not read are discarded.
    func query<Value: Sendable>(
        _ sql: String, _ values: [StoredValue?], _ body: @Sendable (PostgresCursor) throws -> Value
    ) throws -> Value {
        try state.withLock { state in
            let name = try Self.prepared(sql, &state)
            try state.wire.send { handle in
                let isSent = PostgresParameters(values).send(to: name, handle)
                return isSent == 1 ? PQsetSingleRowMode(handle) : 0
            }
            let cursor = PostgresCursor(state.wire)
            defer { cursor.finish() }
            return try body(cursor)
        }
    }

    /// Returns the name of the prepared statement of `sql`.
    private static func prepared(_ sql: String, _ state: inout State) throws(PostgresError) -> String {
        if let name = state.statements[sql] { return name }
        let name = "s\(state.statements.count)"
        PQclear(try state.wire.results { PQsendPrepare($0, name, sql, 0, nil) })
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

import AuthorityStoreSQL
import SQLiteDatabase
import SyncAuthority

/// A connection to SQLite with an open transaction.
struct SQLiteSession: SQLSession {
    private let connection: SharedConnection

    static let recordsOfAccounts: StaticString =
        """
        SELECT client.principal, count(*), sum(length(CAST(record.fields AS BLOB)))
        FROM record JOIN client ON client.id = substr(record.creation, 17, 16) GROUP BY client.principal
        """

    /// Calls `body` in a transaction that reads one snapshot.
    static func read<Result>(
        on connection: SharedConnection, _ body: (SQLTransaction<SQLiteSession>) throws -> Result
    ) throws -> Result {
        try run("BEGIN DEFERRED TRANSACTION", on: connection) { try body(SQLTransaction($0)) }
    }

    /// Calls `body` in a transaction that holds the write lock.
    static func write<Result>(
        on connection: SharedConnection, _ body: (SQLTransaction<SQLiteSession>) throws -> Result
    ) throws -> Result {
        try writeDirectly(on: connection) { try body(SQLTransaction($0)) }
    }

    /// Calls `body` with the session of a transaction that holds the write lock.
    static func writeDirectly<Result>(
        on connection: SharedConnection, _ body: (SQLiteSession) throws -> Result
    ) throws -> Result {
        try run("BEGIN IMMEDIATE TRANSACTION", on: connection, body)
    }

    private static func run<Result>(
        _ begin: StaticString, on connection: SharedConnection, _ body: (SQLiteSession) throws -> Result
    ) throws -> Result {
        try connection.inTurn {
            try connection.use { try $0.statement(begin).run() }
            do {
                let result = try body(SQLiteSession(connection: connection))
                try connection.use { try $0.statement("COMMIT TRANSACTION").run() }
                return result
            } catch {
                // The first error is the one to report.
                try? connection.use { try $0.rollBack() }
                throw error
            }
        }
    }

    func query<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?], _ body: @Sendable (Statement) throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        try use(action, sql, values) { statement, _ in try body(statement) }
    }

    func execute(_ action: String, _ sql: StaticString, _ values: [StoredValue?]) throws(AuthorityStoreError) -> Int {
        try use(action, sql, values) { statement, connection in
            try statement.run()
            return connection.changedRows
        }
    }

    /// Calls `body` with the bound statement, and resets it.
    private func use<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?],
        _ body: @Sendable (Statement, Connection) throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        try AuthorityStoreError.converting(action) {
            try connection.use { connection in
                let statement = try connection.statement(sql)
                defer { statement.reset() }
                for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
                return try body(statement, connection)
            }
        }
    }
}

extension Statement: SQLCursor {
    fileprivate func bind(_ index: Int32, _ value: StoredValue?) {
        switch value {
        case .integer(let value): bind(index, value)
        case .text(let value): bind(index, value)
        case .utf8(let value): bind(index, text: value)
        case .blob(let value): bind(index, blob: value)
        case nil: bindNull(index)
        }
    }
}

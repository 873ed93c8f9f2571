import SQLiteDatabase
import SyncAuthority
import SyncModel

/// A database transaction as the authority sees it. It is valid only during the call that created it.
struct SQLiteTransaction {
    private let connection: SharedConnection

    /// Calls `body` in a transaction that reads one snapshot.
    static func read<Result>(
        on connection: SharedConnection, _ body: (SQLiteTransaction) throws -> Result
    ) throws -> Result {
        try run("BEGIN DEFERRED TRANSACTION", on: connection, body)
    }

    /// Calls `body` in a transaction that holds the write lock.
    static func write<Result>(
        on connection: SharedConnection, _ body: (SQLiteTransaction) throws -> Result
    ) throws -> Result {
        try run("BEGIN IMMEDIATE TRANSACTION", on: connection, body)
    }

    private static func run<Result>(
        _ begin: StaticString, on connection: SharedConnection, _ body: (SQLiteTransaction) throws -> Result
    ) throws -> Result {
        try connection.inTurn {
            try connection.use { try $0.statement(begin).run() }
            do {
                let result = try body(SQLiteTransaction(connection: connection))
                try connection.use { try $0.statement("COMMIT TRANSACTION").run() }
                return result
            } catch {
                // The first error is the one to report.
                try? connection.use { try $0.rollBack() }
                throw error
            }
        }
    }

    // MARK: Statements

    /// Runs a statement to its end.
    ///
    /// - Returns: the number of rows that it changed.
    @discardableResult
    func execute(
        _ action: String, _ sql: String, _ values: [StoredValue?]
    ) throws(AuthorityStoreError) -> Int {
        try use(action, sql, values) { statement, connection in
            try statement.run()
            return connection.changedRows
        }
    }

    /// Returns what `read` makes of the first row; nil if there is none.
    func row<Value: Sendable>(
        _ action: String, _ sql: String, _ values: [StoredValue?], _ read: @Sendable (Statement) throws -> Value
    ) throws(AuthorityStoreError) -> Value? {
        try use(action, sql, values) { statement, _ in try statement.first(read) }
    }

    /// Returns what `read` makes of each row.
    func rows<Value: Sendable>(
        _ action: String, _ sql: String, _ values: [StoredValue?], _ read: @Sendable (Statement) throws -> Value
    ) throws(AuthorityStoreError) -> [Value] {
        try use(action, sql, values) { statement, _ in try statement.rows(read) }
    }

    /// Calls `body` with the bound statement, and resets it.
    func use<Value: Sendable>(
        _ action: String, _ sql: String, _ values: [StoredValue?],
        _ body: @Sendable (Statement, Connection) throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        try AuthorityStoreError.converting(action) {
            try connection.use { connection in
                let statement = try connection.statement(composed: sql)
                defer { statement.reset() }
                for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
                return try body(statement, connection)
            }
        }
    }
}

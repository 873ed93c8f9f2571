import GRDB
import SyncAuthority
import SyncModel

/// A database transaction as the authority sees it. It is valid only during the call that created it.
struct SQLiteTransaction {
    let database: Database

    /// Runs `body`, and converts its errors to failures of the store.
    func attempt<Value>(_ action: String, _ body: () throws -> Value) throws(AuthorityStoreFailure) -> Value {
        do { return try body() } catch { throw .wrapping(error, while: action) }
    }

    func row(
        _ action: String, _ sql: String, _ arguments: StatementArguments
    ) throws(AuthorityStoreFailure) -> Row? {
        try attempt(action) { try Row.fetchOne(database.cachedStatement(sql: sql), arguments: arguments) }
    }

    func execute(
        _ action: String, _ sql: String, _ arguments: StatementArguments
    ) throws(AuthorityStoreFailure) {
        try attempt(action) { try database.cachedStatement(sql: sql).execute(arguments: arguments) }
    }
}

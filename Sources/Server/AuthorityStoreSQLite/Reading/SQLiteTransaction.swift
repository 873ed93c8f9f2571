import GRDB
import SyncAuthority
import SyncModel

/// One transaction of the database, as the authority sees it. Lives as long as the call that made it.
struct SQLiteTransaction {
    let database: Database

    /// Runs `body` and gives SQLite's errors the words of the port.
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

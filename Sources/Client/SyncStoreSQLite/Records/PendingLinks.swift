import SQLiteDatabase
import SyncModel

/// The links between a record and the outbox entries that change it.
enum PendingLinks {
    static func hasChanges(of id: RecordID, in table: RecordTable, _ connection: Connection) throws -> Bool {
        let statement = try connection.statement(
            "SELECT 1 FROM sync_pending WHERE collection = ?1 AND id = ?2 AND link = 'changes' LIMIT 1")
        statement.bind(1, table.name)
        statement.bind(2, id)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Returns the sequences of the entries that change a record, oldest first.
    static func changes(of id: RecordID, in table: RecordTable, _ connection: Connection) throws -> [Int64] {
        let statement = try connection.statement(
            "SELECT sequence FROM sync_pending WHERE collection = ?1 AND id = ?2 AND link = 'changes' ORDER BY sequence"
        )
        statement.bind(1, table.name)
        statement.bind(2, id)
        return try statement.rows { $0.integer(0) }
    }
}

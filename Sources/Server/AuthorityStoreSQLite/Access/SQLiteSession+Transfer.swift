import AuthorityStoreSQL
import SQLiteDatabase
import SyncAuthority

extension SQLiteSession: TransferSession {
    static let insertConflict: StaticString =
        """
        INSERT INTO conflict (number, space, version, collection, id, field, rule, bytes, field_values, winner, loser,
            recipient, principal, client, incarnation, transaction_number, at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        """

    /// SQLite has no time limits for statements, and follows the index of each order.
    func prepareForTransfer() {}

    /// The folder of the file is new, and a server that is started in it before has a history of its own in any case.
    func finishTransfer() {}

    func lastConflict() throws(AuthorityStoreError) -> Int64 {
        try query("read the number of conflicts", "SELECT seq FROM sqlite_sequence WHERE name = 'conflict'", []) {
            try $0.step() ? $0.integer(0) : 0
        }
    }

    func setLastConflict(_ number: Int64) throws(AuthorityStoreError) {
        let action = "write the number of conflicts"
        _ = try execute(action, "DELETE FROM sqlite_sequence WHERE name = 'conflict'", [])
        _ = try execute(
            action, "INSERT INTO sqlite_sequence (name, seq) VALUES ('conflict', $1)", [.integer(number)])
    }
}

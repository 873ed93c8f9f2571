import AuthorityStoreSQL
import SyncAuthority

extension PostgresSession: TransferSession {
    static let insertConflict: StaticString =
        """
        INSERT INTO conflict (number, space, version, collection, id, field, rule, bytes, field_values, winner, loser,
            recipient, principal, client, incarnation, transaction_number, at)
        OVERRIDING SYSTEM VALUE
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        """

    func prepareForTransfer() throws(AuthorityStoreError) {
        try query(
            "prepare the copy",
            """
            SELECT set_config('statement_timeout', '0', true),
                set_config('idle_in_transaction_session_timeout', '0', true), set_config('enable_sort', 'off', true)
            """, []
        ) { _ = try $0.step() }
    }

    func finishTransfer() throws(AuthorityStoreError) {
        _ = try execute(
            "finish the copy", "ALTER TABLE IF EXISTS unfinished_server RENAME TO server", [])
    }

    func lastConflict() throws(AuthorityStoreError) -> Int64 {
        try query(
            "read the number of conflicts",
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM conflict_number_seq", []
        ) { try $0.step() ? $0.integer(0) : 0 }
    }

    func setLastConflict(_ number: Int64) throws(AuthorityStoreError) {
        try query(
            "write the number of conflicts",
            "SELECT setval('conflict_number_seq', greatest(CAST($1 AS bigint), 1), CAST($1 AS bigint) > 0)",
            [.integer(number)]
        ) { _ = try $0.step() }
    }
}

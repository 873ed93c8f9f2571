import AuthorityStoreSQL
import SyncAuthority

/// A connection to PostgreSQL with an open transaction.
struct PostgresSession: SQLSession {
    private let connection: PostgresConnection

    static let recordsOfAccounts: StaticString =
        """
        SELECT client.principal, count(*), CAST(sum(octet_length(record.fields)) AS bigint)
        FROM record JOIN client ON client.id = substr(record.creation, 17, 16) GROUP BY client.principal
        """

    init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    func query<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?],
        _ body: @Sendable (PostgresCursor) throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        try AuthorityStoreError.converting(action) { try connection.query(sql.description, values, body) }
    }

    func execute(_ action: String, _ sql: StaticString, _ values: [StoredValue?]) throws(AuthorityStoreError) -> Int {
        try AuthorityStoreError.converting(action) { try connection.execute(sql.description, values) }
    }
}

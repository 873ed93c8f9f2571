import SQLiteDatabase
import SyncCore
import SyncModel

/// Reads and writes `sync_former_client`: the client ids that the device had before its current one.
enum FormerClients {
    /// Returns the current client id, followed by the former ones, newest first.
    static func all(of client: ClientID, _ connection: Connection) throws -> [ClientID] {
        let statement = try connection.statement(
            "SELECT client FROM sync_former_client WHERE client <> ?2 ORDER BY position DESC LIMIT ?1")
        statement.bind(1, Int64(SchemaLimits.formerClients))
        // A database whose WAL was exchanged may have its current client id among the former ones.
        statement.bind(2, client.description)
        defer { statement.reset() }
        var clients = [client]
        while try statement.step() {
            guard let former = ClientID(statement.text(0)) else {
                throw StoreError(
                    .corrupt, "sync_former_client holds '\(statement.text(0))', which is not a valid client id")
            }
            clients.append(former)
        }
        return clients
    }

    static func remember(_ client: ClientID, _ connection: Connection) throws {
        let insert = try connection.statement("INSERT OR IGNORE INTO sync_former_client (client) VALUES (?1)")
        insert.bind(1, client.description)
        try insert.run()
        let trim = try connection.statement(
            """
            DELETE FROM sync_former_client WHERE position <=
                (SELECT max(position) FROM sync_former_client) - ?1
            """)
        trim.bind(1, Int64(SchemaLimits.formerClients))
        try trim.run()
    }
}

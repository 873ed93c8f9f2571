import SQLiteDatabase
import SyncCore
import SyncModel

/// Decides whether the journal has room for notices of overwritten values.
enum Notices {
    /// Whether the journal has room for notices.
    ///
    /// The server decides how many notices there are, so they may fill only a part of the journal: the other entries
    /// hold what this device's user has written.
    static func haveRoom(_ meta: Meta, _ limits: StoreLimits, _ connection: Connection) throws -> Bool {
        guard
            meta.outbox.activeJournalEntries >= limits.noticeEntries || meta.journal.activeBytes >= limits.noticeBytes
        else { return true }
        // This reads all unhandled entries, but only while there are so many.
        let statement = try connection.statement(
            """
            SELECT count(*), coalesce(sum(bytes), 0) FROM sync_journal
            WHERE state = 'active' AND event = 'overwritten'
            """)
        defer { statement.reset() }
        guard try statement.step() else { return true }
        return statement.integer(0) < limits.noticeEntries && statement.integer(1) < limits.noticeBytes
    }

    /// Returns the client ids for which the device requests notices, the current one first; nil without room in the
    /// journal.
    static func clients(_ meta: Meta, _ limits: StoreLimits, _ connection: Connection) throws -> [ClientID]? {
        guard try haveRoom(meta, limits, connection) else { return nil }
        return try FormerClients.all(of: meta.identity.client, connection)
    }
}

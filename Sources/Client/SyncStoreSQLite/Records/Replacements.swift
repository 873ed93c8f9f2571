import SQLiteDatabase
import SyncModel

/// The records that restores have created in place of deleted ones.
///
/// A replacement may be deleted and replaced, too. Each replacement is stored as one of its predecessor, so that the
/// entries of all earlier records lead to the newest one.
enum Replacements {
    /// Returns the newest record that was created in place of a deleted one; nil when there is none.
    static func newest(of record: RecordAddress, _ connection: Connection) throws -> RecordID? {
        try chain(of: record, connection).first
    }

    /// Returns all records that were created in place of a deleted one, the newest first.
    static func chain(of record: RecordAddress, _ connection: Connection) throws -> [RecordID] {
        let statement = try connection.statement(
            """
            WITH RECURSIVE chain (id, steps) AS (
                SELECT ?2, 0
                UNION ALL
                SELECT replacement, steps + 1 FROM chain
                JOIN sync_replacement ON collection = ?1 AND sync_replacement.id = chain.id WHERE steps < ?3)
            SELECT id FROM chain WHERE steps > 0 ORDER BY steps DESC
            """)
        statement.bind(1, record.collection.rawValue)
        statement.bind(2, record.id)
        statement.bind(3, longestChain)
        defer { statement.reset() }
        var records: [RecordID] = []
        while try statement.step() { records.append(try statement.recordID(0)) }
        return records
    }

    /// Remembers the record that replaces a deleted one and all of its earlier replacements.
    static func add(_ replacement: RecordID, for record: RecordAddress, _ connection: Connection) throws {
        let last = try newest(of: record, connection) ?? record.id
        guard last != replacement else { return }
        let statement = try connection.statement(
            "INSERT OR REPLACE INTO sync_replacement (collection, id, replacement) VALUES (?1, ?2, ?3)")
        statement.bind(1, record.collection.rawValue)
        statement.bind(2, last)
        statement.bind(3, replacement)
        try statement.run()
    }

    /// Ends the search in a damaged table whose rows form a circle.
    private static let longestChain: Int64 = 1_000
}

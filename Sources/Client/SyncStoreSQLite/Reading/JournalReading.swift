import SQLiteDatabase
import SyncCore
import SyncModel

/// Reads `sync_journal` and `sync_conflict`.
enum JournalReading {
    private static let columns =
        "number, at, sequence, event, state, payload, code, message, mutation, bytes, records, fields, space"

    static func entry(_ number: Int64, _ connection: Connection) throws -> JournalEntry? {
        let statement = try connection.statement(composed: "SELECT \(columns) FROM sync_journal WHERE number = ?1")
        statement.bind(1, number)
        return try entries(statement, connection).first
    }

    /// Returns the space of an entry; `default` if a salvage could not read the space.
    static func space(of number: Int64, _ connection: Connection) throws -> SpaceID {
        let statement = try connection.statement("SELECT space FROM sync_journal WHERE number = ?1")
        statement.bind(1, number)
        defer { statement.reset() }
        guard try statement.step() else {
            throw StoreError(.missingEntry, "there is no entry \(number) in the journal")
        }
        return self.space(statement, 0)
    }

    private static func space(_ row: Statement, _ column: Int32) -> SpaceID {
        row.optionalText(column).flatMap(SpaceID.init(rawValue:)) ?? .default
    }

    /// Returns the newest journal entry of a transaction, other than a merged one; nil when there is none.
    static func entry(of sequence: OutboxSequence, _ connection: Connection) throws -> JournalEntry? {
        let statement = try connection.statement(
            composed:
                """
                SELECT \(columns) FROM sync_journal WHERE sequence = ?1 AND event <> 'merged'
                ORDER BY number DESC LIMIT 1
                """)
        statement.bind(1, sequence.rawValue)
        return try entries(statement, connection).first
    }

    /// Returns a page of at most `limit` entries and `bytes` bytes, newest first. A larger entry is returned alone.
    static func page(
        state: JournalEntry.State?, after number: Int64?, limit: Int, bytes: Int64, _ connection: Connection
    ) throws -> [JournalEntry] {
        // The condition repeats those of the partial indexes, so that SQLite uses them.
        let condition =
            switch state {
            case nil: ""
            case .active: "AND state = 'active'"
            case .restored: "AND state <> 'active' AND state = 'restored'"
            case .dismissed: "AND state <> 'active' AND state = 'dismissed'"
            }
        let statement = try connection.statement(
            composed:
                "SELECT \(columns) FROM sync_journal WHERE number < ?1 \(condition) ORDER BY number DESC LIMIT ?2")
        statement.bind(1, number ?? .max)
        statement.bind(2, Int64(max(limit, 0)))
        return try entries(statement, bytes: bytes, connection)
    }

    private static func entries(
        _ statement: Statement, bytes limit: Int64 = .max, _ connection: Connection
    ) throws -> [JournalEntry] {
        defer { statement.reset() }
        var entries: [JournalEntry] = []
        var bytes: Int64 = 0
        while try statement.step() {
            bytes += try statement.count(9, "the size of journal entry \(statement.integer(0))")
            if !entries.isEmpty, bytes > limit { break }
            entries.append(try entry(statement, connection))
        }
        return entries
    }

    private static func entry(_ row: Statement, _ connection: Connection) throws -> JournalEntry {
        let number = row.integer(0)
        guard let state = JournalEntry.State(rawValue: row.text(4)) else {
            throw StoreError(.corrupt, "journal entry \(number) has the unknown state '\(row.text(4))'")
        }
        let event: JournalEntry.Event =
            switch row.text(3) {
            case "rejected":
                .rejected(
                    try StoredForm.transaction(from: row.bytes(5), of: "journal entry \(number)"),
                    Rejection(
                        code: RejectionCode(rawValue: row.text(6)), message: row.text(7),
                        mutation: row.optionalInteger(8).map { Int($0) },
                        fields: RejectedFields.names(row.optionalText(11))))
            case "cancelled":
                .cancelled(try StoredForm.transaction(from: row.bytes(5), of: "journal entry \(number)"))
            case "lost":
                .lost(try StoredForm.transaction(from: row.bytes(5), of: "journal entry \(number)"))
            case "overwritten":
                .overwritten(
                    try conflicts(of: number, connection),
                    deleted: row.isNull(5)
                        ? nil : try StoredForm.transaction(from: row.bytes(5), of: "journal entry \(number)"))
            case "notices_removed":
                .noticesRemoved(in: space(row, 12))
            case "merged":
                .merged(try conflicts(of: number, connection))
            default:
                throw StoreError(.corrupt, "journal entry \(number) has the unknown event '\(row.text(3))'")
            }
        return JournalEntry(
            number: number, at: WallTime(milliseconds: row.integer(1)),
            sequence: row.optionalInteger(2).map { OutboxSequence(rawValue: $0) }, event: event, state: state,
            records: row.isNull(10)
                ? nil : try StoredForm.transaction(from: row.bytes(10), of: "the records of journal entry \(number)"))
    }

    static func conflicts(of journal: Int64, _ connection: Connection) throws -> [FieldConflict] {
        let statement = try connection.statement(
            composed:
                """
                SELECT collection, id, field, rule, base, winner, winner_time, winner_client, winner_account,
                    loser, loser_time, loser_client, loser_account
                FROM sync_conflict WHERE journal = ?1 ORDER BY position
                """)
        statement.bind(1, journal)
        defer { statement.reset() }
        var conflicts: [FieldConflict] = []
        while try statement.step() {
            guard let collection = CollectionName(rawValue: statement.text(0)),
                let field = FieldName(rawValue: statement.text(2))
            else { throw StoreError(.corrupt, "a conflict of journal entry \(journal) cannot be read") }
            conflicts.append(
                FieldConflict(
                    collection: collection, record: try statement.recordID(1), field: field,
                    base: try value(statement, 4, field, journal),
                    winner: try contender(statement, 5, field, journal),
                    loser: try contender(statement, 9, field, journal),
                    rule: ConflictRule(rawValue: statement.text(3))))
        }
        return conflicts
    }

    private static func value(
        _ row: Statement, _ column: Int32, _ field: FieldName, _ journal: Int64
    ) throws -> FieldValue {
        try StoredForm.patch(from: row.bytes(column), of: "a conflict of journal entry \(journal)")[field] ?? .null
    }

    private static func contender(
        _ row: Statement, _ column: Int32, _ field: FieldName, _ journal: Int64
    ) throws -> Contender {
        guard let client = ClientID(row.text(column + 2)) else {
            throw StoreError(.corrupt, "a conflict of journal entry \(journal) names no client")
        }
        return Contender(
            value: try value(row, column, field, journal),
            stamp: Stamp(
                time: HybridTime(rawValue: UInt64(bitPattern: row.integer(column + 1))), client: client),
            account: row.optionalText(column + 3).map(AccountID.init(rawValue:)))
    }
}

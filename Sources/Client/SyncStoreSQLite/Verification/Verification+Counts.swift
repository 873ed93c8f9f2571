import SQLiteDatabase
import SyncCore
import SyncModel

// Compares the counts that the database keeps with what they count.
extension Verification {
    /// A count in `sync_meta`, and the query for what it counts.
    private static let counts: [(column: String, sql: String)] = [
        ("waiting", "SELECT count(*) FROM sync_outbox WHERE number IS NULL"),
        ("held", "SELECT count(*) FROM sync_outbox WHERE held_for IS NOT NULL"),
        ("sent", "SELECT count(*) FROM sync_outbox WHERE number IS NOT NULL AND version IS NULL"),
        ("answered", "SELECT count(*) FROM sync_outbox WHERE number IS NOT NULL AND version IS NOT NULL"),
        ("outbox_bytes", "SELECT coalesce(sum(length(CAST(payload AS BLOB))), 0) FROM sync_outbox"),
        ("active_journal_entries", "SELECT count(*) FROM sync_journal WHERE state = 'active'"),
        ("journal_entries", "SELECT count(*) FROM sync_journal"),
        ("journal_bytes", "SELECT coalesce(sum(bytes), 0) FROM sync_journal"),
        ("active_journal_bytes", "SELECT coalesce(sum(bytes), 0) FROM sync_journal WHERE state = 'active'"),
    ]

    func checkCounts() throws {
        let entries = try connection.integer(of: "SELECT count(*) FROM sync_outbox")
        let counted = try connection.integer(of: "SELECT waiting + sent + answered FROM sync_meta")
        try expect(entries == counted, "the outbox holds \(entries) entries; expected \(counted)")
        for (column, sql) in Self.counts {
            let found = try connection.integer(of: sql)
            let kept = try connection.integer(of: "SELECT \(column) FROM sync_meta")
            try expect(found == kept, "sync_meta.\(column) is \(kept); expected \(found)")
        }
    }

    /// The tables of which SQLite keeps the last number, with the column of the number.
    private static let numbered = [("sync_journal", "number"), ("sync_recording_segment", "segment")]

    /// Checks that no number can be assigned again.
    func checkSequences() throws {
        for (table, column) in Self.numbered {
            let last = try connection.prepare("SELECT seq, typeof(seq) FROM sqlite_sequence WHERE name = ?1")
            last.bind(1, table)
            let sequences = try last.rows { (last: $0.integer(0), type: $0.text(1)) }
            let largest = try connection.integer(of: "SELECT coalesce(max(\(column)), 0) FROM \(table)")
            try expect(sequences.count <= 1, "sqlite_sequence has \(table) \(sequences.count) times")
            guard let sequence = sequences.first else {
                try expect(largest == 0, "sqlite_sequence has lost the last number of \(table)")
                continue
            }
            try expect(
                sequence.type == "integer" && sequence.last >= largest,
                "sqlite_sequence has the last number \(sequence.last) of \(table); expected at least \(largest)")
        }
        let unknown = try connection.integer(of: "SELECT fate_unknown_up_to FROM sync_meta")
        let last = try connection.integer(of: "SELECT last_sequence FROM sync_meta")
        let newest = try connection.integer(of: "SELECT coalesce(max(sequence), 0) FROM sync_outbox")
        try expect(
            newest <= last, "sync_meta.last_sequence is \(last), and the outbox has an entry \(newest)")
        try expect(
            unknown <= last, "sync_meta.fate_unknown_up_to is \(unknown), and the last transaction was \(last)")
        try expectNone(
            "SELECT name FROM sqlite_sequence WHERE name NOT IN (SELECT name FROM sqlite_schema) LIMIT 1"
        ) { "sqlite_sequence names a table \($0)" }
    }
}

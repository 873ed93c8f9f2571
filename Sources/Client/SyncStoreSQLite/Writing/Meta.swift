import SQLiteDatabase
import SyncCore
import SyncModel

/// The single row of `sync_meta`, which is loaded at the start of a write and saved at its end.
struct Meta: Hashable {
    var identity: ClientIdentity
    var nextNumber: TransactionNumber
    /// The sequence of the newest entry that the outbox has ever had; 0 before the first.
    var lastSequence: Int64 = 0
    var epoch: Epoch?
    /// The account of the database; nil before the first contact with a server.
    var account: AccountID?
    /// Whether anything was sent to a server or came from one. From then on, the account does not change.
    var hasExchanged = false
    var clock: HybridClock
    /// How far the server's clock was ahead of the device's at the last contact, in milliseconds; nil before the first
    /// contact.
    var clockOffset: Int64?
    var outbox: OutboxSummary
    var journal: JournalTotals
}

/// Totals of the journal. The number of active entries is `OutboxSummary.activeJournalEntries`.
struct JournalTotals: Hashable {
    var entries = 0
    var bytes: Int64 = 0
    /// The bytes of the active entries.
    var activeBytes: Int64 = 0
}

extension Meta {
    /// Returns an offset within 70 million years, so that the difference of two offsets cannot overflow.
    static func clampedOffset(_ offset: Int64) -> Int64 {
        min(max(offset, -1 << 61), 1 << 61)
    }

    /// The largest incarnation that the protocol can represent.
    static let largestIncarnation = Int64(Int32.max)

    /// Returns the row; nil in a database that has not been initialized.
    static func load(_ connection: Connection) throws -> Meta? {
        let statement = try connection.statement(
            """
            SELECT client, incarnation, next_number, epoch, clock, waiting, sent, answered, outbox_bytes,
                active_journal_entries, account, journal_entries, journal_bytes, active_journal_bytes, clock_offset, held,
                last_sequence, has_exchanged
            FROM sync_meta
            """)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        guard let client = ClientID(statement.text(0)) else {
            throw StoreError(.corrupt, "sync_meta.client is not a valid client id")
        }
        guard (0...Self.largestIncarnation).contains(statement.integer(1)) else {
            throw StoreError(
                .corrupt,
                "sync_meta.incarnation is \(statement.integer(1)); expected 0 to \(Self.largestIncarnation)")
        }
        return Meta(
            identity: ClientIdentity(client: client, incarnation: Int(statement.integer(1))),
            nextNumber: TransactionNumber(try statement.count(2, "sync_meta.next_number")),
            lastSequence: try statement.count(16, "sync_meta.last_sequence"),
            epoch: statement.optionalText(3).map(Epoch.init(rawValue:)),
            account: statement.optionalText(10).map(AccountID.init(rawValue:)),
            hasExchanged: statement.integer(17) != 0,
            clock: HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: statement.integer(4)))),
            clockOffset: statement.optionalInteger(14).map(Self.clampedOffset),
            outbox: OutboxSummary(
                waiting: Int(try statement.count(5, "sync_meta.waiting")),
                held: Int(try statement.count(15, "sync_meta.held")),
                sent: Int(try statement.count(6, "sync_meta.sent")),
                answered: Int(try statement.count(7, "sync_meta.answered")),
                bytes: Int(try statement.count(8, "sync_meta.outbox_bytes")),
                activeJournalEntries: Int(try statement.count(9, "sync_meta.active_journal_entries"))),
            journal: JournalTotals(
                entries: Int(try statement.count(11, "sync_meta.journal_entries")),
                bytes: try statement.count(12, "sync_meta.journal_bytes"),
                activeBytes: try statement.count(13, "sync_meta.active_journal_bytes")))
    }

    /// Saves the row over an earlier one: nothing if they are equal, and only the columns that most writes change if
    /// the others are equal.
    func save(over old: Meta, _ connection: Connection) throws {
        guard self != old else { return }
        var counted = old
        counted.clock = clock
        counted.lastSequence = lastSequence
        counted.outbox.waiting = outbox.waiting
        counted.outbox.bytes = outbox.bytes
        guard self == counted else { return try save(connection) }
        let statement = try connection.statement(
            "UPDATE sync_meta SET clock = ?1, last_sequence = ?2, waiting = ?3, outbox_bytes = ?4 WHERE one = 1")
        statement.bind(1, Int64(bitPattern: clock.last.rawValue))
        statement.bind(2, lastSequence)
        statement.bind(3, Int64(outbox.waiting))
        statement.bind(4, Int64(outbox.bytes))
        try statement.run()
        guard connection.changedRows == 1 else { throw StoreError.withoutIdentity }
    }

    func save(_ connection: Connection) throws {
        let statement = try connection.statement(
            """
            INSERT INTO sync_meta
                (one, client, incarnation, next_number, epoch, clock, waiting, sent, answered, outbox_bytes,
                active_journal_entries, account, journal_entries, journal_bytes, active_journal_bytes, clock_offset, held,
                last_sequence, has_exchanged)
            VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (one) DO UPDATE SET
                client = ?1, incarnation = ?2, next_number = ?3, epoch = ?4, clock = ?5, waiting = ?6, sent = ?7,
                answered = ?8, outbox_bytes = ?9, active_journal_entries = ?10, account = ?11, journal_entries = ?12,
                journal_bytes = ?13, active_journal_bytes = ?14, clock_offset = ?15, held = ?16,
                last_sequence = ?17, has_exchanged = ?18
            """)
        statement.bind(1, identity.client.description)
        statement.bind(2, Int64(identity.incarnation))
        statement.bind(3, nextNumber.rawValue)
        statement.bind(4, epoch?.rawValue)
        statement.bind(5, Int64(bitPattern: clock.last.rawValue))
        statement.bind(6, Int64(outbox.waiting))
        statement.bind(7, Int64(outbox.sent))
        statement.bind(8, Int64(outbox.answered))
        statement.bind(9, Int64(outbox.bytes))
        statement.bind(10, Int64(outbox.activeJournalEntries))
        statement.bind(11, account?.rawValue)
        statement.bind(12, Int64(journal.entries))
        statement.bind(13, journal.bytes)
        statement.bind(14, journal.activeBytes)
        statement.bind(15, clockOffset)
        statement.bind(16, Int64(outbox.held))
        statement.bind(17, lastSequence)
        statement.bind(18, hasExchanged ? 1 : 0)
        try statement.run()
    }
}

import SyncSimulation

/// A workload in which every torn transaction can be detected: each transaction moves one coin between two accounts and
/// records the move in a ledger.
struct BankWorkload {
    static let path = "/bank.sqlite"
    static let accounts = 12

    let journalMode: JournalMode
    let synchronous: String

    enum JournalMode: String, CaseIterable, Sendable {
        case wal, delete, truncate, persist
    }

    func open(_ process: DiskProcess) throws -> RawConnection {
        let connection = try RawConnection(Self.path, on: process)
        try connection.run("PRAGMA journal_mode = \(journalMode.rawValue)")
        try connection.run("PRAGMA synchronous = \(synchronous)")
        try connection.run("PRAGMA wal_autocheckpoint = 12")
        try connection.run("PRAGMA cache_size = 8")  // The small cache makes SQLite write pages before the commit.
        return connection
    }

    func create(_ connection: RawConnection) throws {
        try connection.run("BEGIN IMMEDIATE")
        try connection.run("CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, coins INTEGER, padding TEXT)")
        try connection.run(
            "CREATE TABLE IF NOT EXISTS ledger (number INTEGER PRIMARY KEY, source INTEGER, target INTEGER, padding TEXT)"
        )
        if try connection.integer("SELECT count(*) FROM account") == 0 {
            for id in 0..<Self.accounts {
                try connection.run("INSERT INTO account VALUES (\(id), 100, hex(zeroblob(1500)))")
            }
        }
        try connection.run("COMMIT")
    }

    /// Runs one transaction. If this throws, the transaction may or may not have been committed.
    func transfer(number: Int, _ connection: RawConnection, random: inout SeededRandom) throws {
        let source = random.below(Self.accounts)
        let target = (source + 1 + random.below(Self.accounts - 1)) % Self.accounts
        do {
            try connection.run("BEGIN IMMEDIATE")
            try connection.run("UPDATE account SET coins = coins - 1 WHERE id = \(source)")
            try connection.run(
                "INSERT INTO ledger VALUES (\(number), \(source), \(target), hex(zeroblob(\(random.below(3_000)))))")
            try connection.run("UPDATE account SET coins = coins + 1 WHERE id = \(target)")
            try connection.run("COMMIT")
        } catch {
            try? connection.run("ROLLBACK")
            throw error
        }
    }

    /// Returns the number of transfers, or -1 if the tables do not exist. Throws `TornError` if the accounts and the
    /// ledger contradict each other.
    func check(_ connection: RawConnection) throws -> Int {
        let integrity = try connection.texts("PRAGMA integrity_check")
        guard integrity == ["ok"] else { throw TornError("integrity_check: \(integrity)") }
        guard try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ledger'") == 1 else { return -1 }
        let count = try connection.integer("SELECT count(*) FROM ledger")
        let last = try connection.integer("SELECT coalesce(max(number), 0) FROM ledger")
        guard count == last else { throw TornError("\(count) transfers, but the last has number \(last)") }
        let wrong = try connection.texts(
            """
            SELECT id FROM account WHERE coins != 100
              - (SELECT count(*) FROM ledger WHERE source = id) + (SELECT count(*) FROM ledger WHERE target = id)
            """)
        guard wrong.isEmpty else { throw TornError("accounts that contradict the ledger: \(wrong)") }
        guard try connection.integer("SELECT count(*) FROM account") == Self.accounts else {
            throw TornError("accounts are missing")
        }
        return count
    }

    /// A contradiction in the database, which shows that a transaction was applied in part.
    struct TornError: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }
}

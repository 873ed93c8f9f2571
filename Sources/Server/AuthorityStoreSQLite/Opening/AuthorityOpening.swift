import CSQLiteStore
import Foundation
import GRDB
import Schemas
import SyncAuthority
import SyncModel

/// The steps from a connection to a database that can be trusted.
struct AuthorityOpening: Sendable {
    /// The file or folder to open, for messages.
    let name: String
    let configuration: SQLiteAuthorityConfiguration

    /// "Tmbl" says that a database is an authority's; `file` shows it.
    static let applicationID: Int32 = 0x546D_626C
    /// Bytes that the log may keep when it is used again from its beginning: twice those of an automatic checkpoint. A backup
    /// that takes hours makes it longer.
    private static let keptLogBytes = 8 * 1_024 * 1_024

    func grdb(isSingle: Bool) -> Configuration {
        var grdb = Configuration()
        grdb.label = "authority"
        grdb.busyMode = .timeout(Double(configuration.busyTimeout.wholeMilliseconds) / 1_000)
        grdb.maximumReaderCount = max(configuration.readers, 1)
        // References are checked by the planner; there are no foreign keys.
        grdb.foreignKeysEnabled = false
        grdb.prepareDatabase { database in
            // Before anything else is touched, so that a foreign database stays as it is.
            try check(database)
            try database.execute(
                sql: """
                    PRAGMA trusted_schema = OFF;
                    PRAGMA cell_size_check = ON;
                    PRAGMA journal_size_limit = \(Self.keptLogBytes);
                    """)
            if isSingle { try database.execute(sql: "PRAGMA journal_mode = WAL") }
        }
        return grdb
    }

    /// Sets what the pool would set otherwise, brings the schema up to date, and begins a history in a new database.
    func finish(_ writer: any DatabaseWriter, newHistory: HistoryIdentity) throws(AuthorityStoreFailure) {
        try perform("set up \(name)") {
            try writer.writeWithoutTransaction { database in
                try setDurability(of: database)
                try makeDurable(database)
            }
            try writer.write { database in
                try migrate(database)
                try begin(newHistory, in: database)
            }
        }
    }

    /// Makes durable what SQLite has just recovered from the log of a process that was killed in the middle of a commit: it
    /// is visible, but perhaps not on the medium. Clients that were shown such commits would hold versions which the next
    /// loss of power takes away, and which are then given to other commits (I1, I9).
    ///
    /// A checkpoint would have to wait for whoever reads beside: a backup that takes hours.
    private func makeDurable(_ database: Database) throws {
        try database.inTransaction(.immediate) {
            let code = ResultCode(rawValue: csqlitestore_write_log_again(database.sqliteConnection))
            guard code == .SQLITE_OK else {
                throw DatabaseError(resultCode: code, message: "what is in the log could not be flushed")
            }
            return .rollback
        }
    }

    func perform<Value>(_ action: String, _ body: () throws -> Value) throws(AuthorityStoreFailure) -> Value {
        do { return try body() } catch { throw .wrapping(error, while: action) }
    }

    private func check(_ database: Database) throws {
        let application = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let known = AuthoritySchema.migrations.count
        if application != Self.applicationID {
            let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
            guard application == 0, version == 0, tables == 0 else {
                throw AuthorityStoreFailure(.otherSchema, "\(name) is a database, but not one of an authority")
            }
        } else if version > known {
            throw AuthorityStoreFailure(
                .newerSchema,
                "\(name) has schema \(version), made by a newer build; this one knows up to \(known)")
        }
    }

    /// The pool sets NORMAL when it opens, whatever was set before: so it is set afterwards, and read back.
    ///
    /// So is the journal mode. SQLite says "wal" before it commits the change, and nobody looks at the statement again
    /// when that fails; with a rollback journal a commit would hang on a deleted file whose folder nobody flushes.
    private func setDurability(of database: Database) throws {
        let wanted = configuration.durability == .full ? 2 : 1
        try database.execute(sql: "PRAGMA synchronous = \(wanted)")
        let found = try Int.fetchOne(database, sql: "PRAGMA synchronous") ?? -1
        guard found == wanted else {
            throw AuthorityStoreFailure(
                .notDurable, "\(name): PRAGMA synchronous is \(found) after it was set to \(wanted)")
        }
        let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode") ?? "none"
        guard mode == "wal" || mode == "memory" else {
            throw AuthorityStoreFailure(.notDurable, "\(name): the journal mode is \(mode) after it was set to wal")
        }
    }

    private func migrate(_ database: Database) throws {
        // Read again under the write lock: another process may have been here.
        try check(database)
        let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
        let missing = AuthoritySchema.migrations.dropFirst(version)
        guard !missing.isEmpty else { return }
        for migration in missing { try database.execute(sql: migration.sql) }
        try database.execute(
            sql: """
                PRAGMA application_id = \(Self.applicationID);
                PRAGMA user_version = \(AuthoritySchema.migrations.count);
                """)
    }

    private func begin(_ history: HistoryIdentity, in database: Database) throws {
        guard try Int.fetchOne(database, sql: "SELECT count(*) FROM server") == 0 else { return }
        guard Epoch.isWellFormed(history.epoch.rawValue) else {
            throw AuthorityStoreFailure(
                .unstorable, "an epoch is 1 to 64 letters, digits, - and _, not '\(history.epoch)'")
        }
        try database.execute(
            sql: "INSERT INTO server (only, epoch, clock, key) VALUES (1, ?, 0, ?)",
            arguments: [history.epoch.rawValue, Data(history.key.bytes)])
    }
}

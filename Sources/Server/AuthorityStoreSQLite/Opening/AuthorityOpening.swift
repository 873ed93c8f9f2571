import CSQLiteStore
import Foundation
import GRDB
import Schemas
import SyncAuthority
import SyncModel

/// The steps that turn a connection into a database that can be trusted.
struct AuthorityOpening: Sendable {
    /// The name of the database in messages.
    let name: String
    let configuration: SQLiteAuthorityConfiguration

    /// The application id "Tmbl", which marks a database as an authority's. The `file` command shows it.
    static let applicationID: Int32 = 0x546D_626C
    /// The size, in bytes, to which SQLite truncates the WAL when it restarts it: twice that of an automatic
    /// checkpoint. A backup that takes hours makes the WAL longer.
    private static let keptLogBytes = 8 * 1_024 * 1_024

    func grdb(isSingle: Bool) -> Configuration {
        var grdb = Configuration()
        grdb.label = "authority"
        grdb.busyMode = .timeout(Double(configuration.busyTimeout.wholeMilliseconds) / 1_000)
        grdb.maximumReaderCount = max(configuration.readers, 1)
        // The planner checks references, so the schema has no foreign keys.
        grdb.foreignKeysEnabled = false
        grdb.prepareDatabase { database in
            // This comes first, so that a database of another program stays unchanged.
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

    /// Sets the pragmas that the pool would otherwise override, migrates the schema, and begins a history in a new
    /// database.
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

    /// Makes durable the commits that SQLite has just recovered from the WAL of a process that was killed during a
    /// commit.
    ///
    /// Such commits are visible, but may not be on the disk. A client that received them would hold versions that the
    /// next power loss removes and that are then assigned to other commits (I1, I9).
    ///
    /// A checkpoint is not used, because it would have to wait for other readers, such as a backup that takes hours.
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

    /// Sets the durability and reads it back, after the pool has set NORMAL on opening.
    ///
    /// The journal mode is read back as well. SQLite reports "wal" before it commits the change, and GRDB does not
    /// check the statement again when that fails. With a rollback journal, the durability of a commit would depend on
    /// the deletion of a file in a folder that is never flushed.
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
        // Check again under the write lock, because another process may have migrated the database in the meantime.
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

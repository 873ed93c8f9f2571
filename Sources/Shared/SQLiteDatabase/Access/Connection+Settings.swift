import CSQLite
import Glibc

extension Connection {
    /// The kind of failure that a commit survives.
    package enum Durability: Int64, Sendable {
        /// A crash of the process. A power loss may undo the newest commits (`synchronous = NORMAL`).
        case processCrash = 1
        /// A power loss and a crash of the process, at the cost of one flush per commit (`synchronous = FULL`).
        case powerLoss = 2
    }

    /// Checks that the file is a database that SQLite can write.
    ///
    /// SQLite itself reads the file only when it runs the first statement.
    ///
    /// - Throws: `notADatabase`; or `corrupt` if the header is damaged so that SQLite would never write the file.
    package func checkFormat() throws(DatabaseError) {
        do throws(DatabaseError) {
            try prepare("SELECT * FROM sqlite_schema LIMIT 1").run()
        } catch {
            // The statement is valid, so a generic error means a format number that SQLite does not know.
            guard error.isGeneric else { throw error }
            throw DatabaseError(.corrupt, "the header of the database file is damaged: \(error.message)")
        }
        // SQLite opens a file as read-only if its header has an unknown write version.
        guard sqlite3_db_readonly(handle, "main") == 1, let path = sqlite3_db_filename(handle, "main"),
            access(path, W_OK) == 0
        else { return }
        throw DatabaseError(
            .corrupt, "the header of the database file is damaged: SQLite may not write \(String(cString: path))")
    }

    /// Protects the connection against malicious or damaged database files, and against mistakes in SQL.
    package func harden() throws(DatabaseError) {
        try execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
        for code in [csqlite_set_defensive(handle), csqlite_refuse_double_quoted_strings(handle)]
        where code != SQLITE_OK {
            throw DatabaseError(code, while: "set up a connection")
        }
    }

    /// Changes the journal mode of the database to WAL.
    ///
    /// The mode is read back, because SQLite returns "wal" before it commits the change, and silently keeps the
    /// rollback journal if the commit fails. A transaction would then be durable only when the deletion of the rollback
    /// journal is durable, and nothing flushes the folder.
    ///
    /// - Parameter name: The name of the database in the error message.
    /// - Throws: `notDurable` when the mode is not WAL afterward, for example because the file system does not support
    ///   it. A database in memory has no WAL and needs none.
    package func useWAL(_ name: String) throws(DatabaseError) {
        try execute("PRAGMA journal_mode = WAL")
        let mode = try text(of: "PRAGMA journal_mode")
        guard mode == "wal" || mode == "memory" else {
            throw DatabaseError(.notDurable, "\(name): the journal mode is \(mode) after it was set to wal")
        }
    }

    /// Sets the durability of this connection's commits and reads it back.
    package func setDurability(_ durability: Durability, of name: String) throws(DatabaseError) {
        try execute("PRAGMA synchronous = \(durability.rawValue)")
        let found = try integer(of: "PRAGMA synchronous")
        guard found == durability.rawValue else {
            throw DatabaseError(
                .notDurable, "\(name): PRAGMA synchronous is \(found) after it was set to \(durability.rawValue)")
        }
    }

    /// Makes every statement of this connection that would write fail.
    package func refuseWrites() throws(DatabaseError) {
        try execute("PRAGMA query_only = ON")
    }
}

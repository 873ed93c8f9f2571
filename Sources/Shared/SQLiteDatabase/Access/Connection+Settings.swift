import CSQLite
import Glibc

extension Connection {
    /// The failures that a commit survives.
    package enum Durability: Int64, Sendable {
        /// A crash of the process. A power loss may undo the newest commits (`synchronous = NORMAL`).
        case processCrash = 1
        /// A power loss, too, at the cost of one flush per commit (`synchronous = FULL`).
        case powerLoss = 2
    }

    /// Throws if the file is not a database, or if its header is damaged so that SQLite would never write it. SQLite
    /// itself reads the file only when it runs the first statement.
    package func checkFormat() throws(DatabaseError) {
        do throws(DatabaseError) {
            try prepare("SELECT * FROM sqlite_schema LIMIT 1").run()
        } catch {
            // The statement is valid, so a generic error means a format number that SQLite does not know.
            guard error.isGeneric else { throw error }
            throw DatabaseError(.corrupt, "the header of the database file is damaged: \(error.message)")
        }
        // SQLite only reads a file whose header has an unknown write version.
        guard sqlite3_db_readonly(handle, "main") == 1, let path = sqlite3_db_filename(handle, "main"),
            access(path, W_OK) == 0
        else { return }
        throw DatabaseError(
            .corrupt, "the header of the database file is damaged: SQLite may not write \(String(cString: path))")
    }

    /// Makes the connection refuse operations that only a malicious file or a mistake would ask for.
    package func harden() throws(DatabaseError) {
        try execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
        for code in [csqlite_set_defensive(handle), csqlite_refuse_double_quoted_strings(handle)]
        where code != SQLITE_OK {
            throw DatabaseError(code, while: "set up a connection")
        }
    }

    /// Changes the journal mode of the database to WAL.
    ///
    /// The mode is read again, because SQLite answers "wal" before the change is committed, and silently keeps the
    /// rollback journal if that fails. The durability of a commit would then depend on the deletion of a file in a
    /// folder that is never flushed.
    ///
    /// - Throws: `notDurable` when the file system cannot have a WAL. A database in memory has none and needs none.
    package func useWAL(_ name: String) throws(DatabaseError) {
        try execute("PRAGMA journal_mode = WAL")
        let mode = try text(of: "PRAGMA journal_mode")
        guard mode == "wal" || mode == "memory" else {
            throw DatabaseError(.notDurable, "\(name): the journal mode is \(mode) after it was set to wal")
        }
    }

    /// Sets the durability of this connection's commits, and reads it back.
    package func setDurability(_ durability: Durability, of name: String) throws(DatabaseError) {
        try execute("PRAGMA synchronous = \(durability.rawValue)")
        let found = try integer(of: "PRAGMA synchronous")
        guard found == durability.rawValue else {
            throw DatabaseError(
                .notDurable, "\(name): PRAGMA synchronous is \(found) after it was set to \(durability.rawValue)")
        }
    }

    package func refuseWrites() throws(DatabaseError) {
        try execute("PRAGMA query_only = ON")
    }
}

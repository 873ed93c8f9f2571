import CSQLite
import SyncModel

/// A connection to a database, with its cached statements. Not thread-safe: the owner protects it with a lock.
package final class Connection {
    let handle: OpaquePointer
    /// Cached statements by the address of their SQL, which is a string literal, so that a lookup hashes no text.
    private var literal: [UInt: Statement] = [:]
    /// Cached statements by their SQL, for SQL composed from table names and queries.
    private var composed: [String: Statement] = [:]
    /// Cached statements by the caller's numbers, so that a lookup hashes nothing.
    private var numbered: [Statement?] = []
    /// Cached statements by the caller's keys, of which there may be many.
    private var keyed: [Int: Statement] = [:]
    /// The memory in which the WAL hook stores `pagesInWAL`; nil before `takeOverCheckpoints()`.
    var walPages: UnsafeMutablePointer<Int32>?
    /// The opened file; nil for a database in memory or of a custom VFS.
    private let identity: DatabaseFiles.Identity?
    /// The files whose WAL the connection leaves alone when it closes, if another process may have written into it.
    package var openFiles: OpenFiles?

    /// Maximum number of cached statements with composed SQL, and of those with keys: more than an ordinary application
    /// has queries, and edits of different fields.
    private static let mostComposed = 100

    /// Opens a connection, which closes when this object is destroyed.
    ///
    /// - Parameters:
    ///   - location: a path, a URI, or `:memory:`.
    ///   - busyTimeout: how long each statement waits for a lock of another connection.
    package init(opening location: String, busyTimeout: Duration) throws(DatabaseError) {
        var handle: OpaquePointer?
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(location, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let error =
                handle.map { DatabaseError(code, of: $0, while: "open a connection") }
                ?? DatabaseError(code, while: "open a connection")
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        identity = sqlite3_db_filename(handle, "main").flatMap { DatabaseFiles(path: String(cString: $0)).identity() }
        if let identity { OpenDatabases.shared.opened(identity) }
        setBusyTimeout(busyTimeout)
    }

    deinit {
        literal.removeAll()
        composed.removeAll()
        numbered.removeAll()
        keyed.removeAll()
        if openFiles?.mayHaveForeignWAL == true { keepWALOnClose() }
        sqlite3_close_v2(handle)
        if let identity { OpenDatabases.shared.closed(identity) }
        walPages?.deallocate()
    }

    package func setBusyTimeout(_ timeout: Duration) {
        sqlite3_busy_timeout(handle, Int32(clamping: timeout.wholeMilliseconds))
    }

    // MARK: Statements

    /// Returns the cached statement for a string literal, and prepares it on first use.
    package func statement(_ sql: StaticString) throws(DatabaseError) -> Statement {
        let key = UInt(bitPattern: sql.utf8Start)
        if let statement = literal[key] { return statement }
        let statement = try prepare(sql.description)
        literal[key] = statement
        return statement
    }

    /// Returns the cached statement for composed SQL, and prepares it on first use.
    ///
    /// Like every statement, the returned one must be reset after use, even after an error: until then, it keeps its
    /// snapshot open.
    package func statement(composed sql: String) throws(DatabaseError) -> Statement {
        if let statement = composed[sql] { return statement }
        // An application has few distinct queries. If it keeps composing new ones, each takes longer, but memory does
        // not grow.
        if composed.count >= Self.mostComposed { composed.removeAll(keepingCapacity: true) }
        let statement = try prepare(sql)
        composed[sql] = statement
        return statement
    }

    /// Returns the cached statement with one of the caller's numbers, and prepares it on first use.
    ///
    /// - Parameter number: counts from 0. A number always stands for the same SQL.
    package func statement(
        numbered number: Int, _ sql: @autoclosure () -> String
    ) throws(DatabaseError) -> Statement {
        if number < numbered.count, let statement = numbered[number] { return statement }
        let statement = try prepare(sql())
        while numbered.count <= number { numbered.append(nil) }
        numbered[number] = statement
        return statement
    }

    /// Returns the cached statement with one of the caller's keys, and prepares it on first use.
    ///
    /// - Parameter key: always stands for the same SQL. Unlike numbers, keys may be far apart.
    package func statement(keyed key: Int, _ sql: @autoclosure () -> String) throws(DatabaseError) -> Statement {
        if let statement = keyed[key] { return statement }
        if keyed.count >= Self.mostComposed { keyed.removeAll(keepingCapacity: true) }
        let statement = try prepare(sql())
        keyed[key] = statement
        return statement
    }

    /// Prepares a statement that is not cached.
    package func prepare(_ sql: String) throws(DatabaseError) -> Statement {
        try Statement(sql, on: handle)
    }

    package func execute(_ sql: String) throws(DatabaseError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw DatabaseError(sqlite3_extended_errcode(handle), of: handle, while: "carry out a statement")
        }
    }

    /// Returns the first column of a query's first row; 0 if there is no row.
    package func integer(of sql: String) throws(DatabaseError) -> Int64 {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Returns the first column of a query's first row; empty if there is no row.
    package func text(of sql: String) throws(DatabaseError) -> String {
        let statement = try prepare(sql)
        return try statement.step() ? statement.text(0) : ""
    }

    /// The number of rows that the last INSERT, UPDATE, or DELETE changed.
    package var changedRows: Int { Int(sqlite3_changes64(handle)) }

    /// Copies a snapshot of the database into an empty file, without free pages.
    ///
    /// Takes no write lock. The WAL cannot restart meanwhile, so it grows by the commits of others. The copy has a
    /// rollback journal, and no WAL.
    package func copy(into file: String) throws(DatabaseError) {
        let statement = try prepare("VACUUM INTO ?1")
        // SQLite takes a name that begins with `file:` for a URI.
        statement.bind(1, file.hasPrefix("/") ? file : "./" + file)
        try statement.run()
    }

    /// Writes the whole database again, without free pages, in one transaction.
    ///
    /// Readers continue meanwhile, and writers wait. Until a checkpoint, the new pages are in the WAL. SQLite builds a
    /// copy first, in a file that has no name, in the folder for temporary files.
    ///
    /// - Returns: the sizes of the database before and after that, in bytes, including what is in the WAL.
    package func compact() throws(DatabaseError) -> (before: Int64, after: Int64) {
        let pageBytes = try integer(of: "PRAGMA page_size")
        let before = try integer(of: "PRAGMA page_count")
        try execute("VACUUM")
        return (before * pageBytes, try integer(of: "PRAGMA page_count") * pageBytes)
    }

    // MARK: Transactions

    /// The way a transaction ends when its body does not throw.
    package enum Ending<Value> {
        case commit(Value)
        case rollBack(Value)
    }

    /// Calls `body` inside `BEGIN IMMEDIATE` and then commits or rolls back, as `body` chooses. An error rolls back.
    package func write<Value>(_ body: (Connection) throws -> Ending<Value>) throws -> Value {
        try statement("BEGIN IMMEDIATE").run()
        do {
            switch try body(self) {
            case .commit(let value):
                try statement("COMMIT").run()
                return value
            case .rollBack(let value):
                try statement("ROLLBACK").run()
                return value
            }
        } catch {
            resetStatements()
            // The first error is the one to report.
            try? rollBack()
            throw error
        }
    }

    /// Resets the statements that an error has interrupted. A write that is not finished would block every later
    /// commit.
    private func resetStatements() {
        var next = sqlite3_next_stmt(handle, nil)
        while let statement = next {
            if sqlite3_stmt_busy(statement) != 0 { sqlite3_reset(statement) }
            next = sqlite3_next_stmt(handle, statement)
        }
    }

    /// Calls `body` inside a savepoint of the current transaction, and then keeps or rolls back what it has changed, as
    /// `body` chooses. An error rolls back to the savepoint.
    ///
    /// - Returns: the value or the error of `body`.
    /// - Throws: an error after which the whole transaction must be rolled back.
    package func savepoint<Value>(_ body: (Connection) throws -> Ending<Value>) throws -> Result<Value, any Error> {
        try statement("SAVEPOINT part").run()
        let ending: Ending<Value>
        do {
            ending = try body(self)
        } catch {
            resetStatements()
            // After some errors, such as a full disk, SQLite has already rolled back everything.
            guard isInTransaction else { throw error }
            try rollBackToSavepoint()
            return .failure(error)
        }
        switch ending {
        case .commit(let value):
            try statement("RELEASE part").run()
            return .success(value)
        case .rollBack(let value):
            try rollBackToSavepoint()
            return .success(value)
        }
    }

    private func rollBackToSavepoint() throws(DatabaseError) {
        try statement("ROLLBACK TO part").run()
        try statement("RELEASE part").run()
    }

    private var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Calls `body` with all its reads in one snapshot.
    package func readSnapshot<Value>(_ body: (Connection) throws -> Value) throws -> Value {
        try statement("BEGIN DEFERRED").run()
        do {
            let value = try body(self)
            try statement("COMMIT").run()
            return value
        } catch {
            // The first error is the one to report.
            try? rollBack()
            throw error
        }
    }

    /// Rolls back, unless SQLite has already done so, as it does after some errors.
    package func rollBack() throws(DatabaseError) {
        if isInTransaction { try execute("ROLLBACK") }
    }
}

import GRDBSQLite
import SyncCore
import SyncModel

/// A connection with its cached statements. Not thread-safe: a lock protects it.
final class Connection {
    let handle: OpaquePointer
    private let isOwned: Bool
    /// Cached statements by the address of their SQL, which is a string literal, so that a lookup hashes no text.
    private var kept: [UInt: Statement] = [:]
    /// Cached statements by their SQL, for SQL composed from table names and queries.
    private var composed: [String: Statement] = [:]
    private var tables: [TableStatements]

    /// Borrows a connection that another object opened and will close.
    init(borrowing handle: OpaquePointer, tables: [RecordTable]) {
        self.handle = handle
        isOwned = false
        self.tables = tables.map(TableStatements.init)
    }

    /// Opens a connection, which closes with this object.
    init(opening uri: String, tables: [RecordTable], busyTimeout: Duration) throws(StoreFailure) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(uri, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let message = handle.map(Self.message) ?? "out of memory"
            sqlite3_close_v2(handle)
            throw .sqlite(code, message, while: "open a connection")
        }
        self.handle = handle
        isOwned = true
        self.tables = tables.map(TableStatements.init)
        sqlite3_busy_timeout(handle, Int32(clamping: busyTimeout.wholeMilliseconds))
    }

    /// Finalizes the statements, so that the connection can be closed.
    func close() {
        kept.removeAll()
        composed.removeAll()
        for index in tables.indices { tables[index].forget() }
    }

    deinit {
        kept.removeAll()
        composed.removeAll()
        tables.removeAll()
        if isOwned { sqlite3_close_v2(handle) }
    }

    /// Returns the cached statement for a string literal, and prepares it on first use.
    func statement(_ sql: StaticString) throws(StoreFailure) -> Statement {
        let key = UInt(bitPattern: sql.utf8Start)
        if let statement = kept[key] { return statement }
        let statement = try Statement(sql.description, on: handle)
        kept[key] = statement
        return statement
    }

    /// Returns the cached statement for composed SQL, and prepares it on first use.
    ///
    /// The caller must reset it, even after an error, because a statement that is not reset keeps its snapshot open.
    func statement(composed sql: String) throws(StoreFailure) -> Statement {
        if let statement = composed[sql] { return statement }
        // An application has few distinct queries. One that keeps making new ones pays in time for each, but not in
        // memory.
        if composed.count >= StoreLimits.composedStatements { composed.removeAll(keepingCapacity: true) }
        let statement = try Statement(sql, on: handle)
        composed[sql] = statement
        return statement
    }

    /// Prepares a statement that is not cached.
    func prepare(_ sql: String) throws(StoreFailure) -> Statement {
        try Statement(sql, on: handle)
    }

    func execute(_ sql: String) throws(StoreFailure) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw .sqlite(sqlite3_extended_errcode(handle), Self.message(of: handle), while: "carry out a statement")
        }
    }

    /// Returns the only column of the only row of a query; 0 if there is no row.
    func integer(of sql: String) throws(StoreFailure) -> Int64 {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    func text(of sql: String) throws(StoreFailure) -> String {
        let statement = try prepare(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.text(0) : ""
    }

    /// Returns the statements of the table at `position` in the catalog.
    func table(_ position: Int) -> TableStatements {
        tables[position]
    }

    static func message(of handle: OpaquePointer) -> String {
        String(cString: sqlite3_errmsg(handle))
    }
}

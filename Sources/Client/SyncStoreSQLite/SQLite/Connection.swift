import GRDBSQLite
import SyncCore
import SyncModel

/// A connection with its kept statements. Not thread-safe: it lives behind a lock.
final class Connection {
    let handle: OpaquePointer
    private let isOwned: Bool
    /// By the address of the text, which is a literal of this program: no text is hashed on the way to a statement.
    private var kept: [UInt: Statement] = [:]
    /// By text, for those that are put together from the names of tables and from queries.
    private var composed: [String: Statement] = [:]
    private var tables: [TableStatements]

    /// Takes over a connection that another object opened and will close.
    init(borrowing handle: OpaquePointer, tables: [RecordTable]) {
        self.handle = handle
        isOwned = false
        self.tables = tables.map(TableStatements.init)
    }

    /// Opens a connection of its own.
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

    /// Forgets the statements; a connection of its own is closed.
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

    /// The statement for a text of this program, prepared when first asked for.
    func statement(_ sql: StaticString) throws(StoreFailure) -> Statement {
        let key = UInt(bitPattern: sql.utf8Start)
        if let statement = kept[key] { return statement }
        let statement = try Statement(sql.description, on: handle)
        kept[key] = statement
        return statement
    }

    /// The statement for a text that was put together, prepared when first asked for. Who uses it resets it, also when
    /// something fails: what is not reset keeps its snapshot open.
    func statement(composed sql: String) throws(StoreFailure) -> Statement {
        if let statement = composed[sql] { return statement }
        // An application has few forms of queries. One that makes ever new ones pays for each, and not with memory.
        if composed.count >= StoreLimits.composedStatements { composed.removeAll(keepingCapacity: true) }
        let statement = try Statement(sql, on: handle)
        composed[sql] = statement
        return statement
    }

    /// A statement for one use.
    func prepare(_ sql: String) throws(StoreFailure) -> Statement {
        try Statement(sql, on: handle)
    }

    func execute(_ sql: String) throws(StoreFailure) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw .sqlite(sqlite3_extended_errcode(handle), Self.message(of: handle), while: "carry out a statement")
        }
    }

    /// The only column of the only row of a query.
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

    /// The statements of the table at `position` in the catalog.
    func table(_ position: Int) -> TableStatements {
        tables[position]
    }

    static func message(of handle: OpaquePointer) -> String {
        String(cString: sqlite3_errmsg(handle))
    }
}

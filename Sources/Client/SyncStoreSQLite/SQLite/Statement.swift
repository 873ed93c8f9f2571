import GRDBSQLite
import SyncCore
import SyncModel

/// A prepared statement, cached for the lifetime of its connection. Not thread-safe: its connection's lock protects it.
final class Statement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer
    /// The first failed binding since the last reset. The next step throws it.
    private var bindingFailure: Int32 = SQLITE_OK

    /// SQLITE_TRANSIENT: SQLite copies the bound bytes.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ sql: String, on connection: OpaquePointer) throws(StoreFailure) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw .sqlite(code, Connection.message(of: connection), while: "prepare a statement")
        }
        self.handle = handle
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(handle)
    }

    // MARK: Running

    /// Steps to the next row. Returns false, and resets the statement, when there is none.
    func step() throws(StoreFailure) -> Bool {
        if bindingFailure != SQLITE_OK {
            let code = bindingFailure
            reset()
            throw .sqlite(code, String(cString: sqlite3_errstr(code)), while: "bind a value")
        }
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        case let code:
            let extended = sqlite3_extended_errcode(connection)
            let failure = StoreFailure.sqlite(
                extended & 0xFF == code & 0xFF ? extended : code, Connection.message(of: connection),
                while: "carry out a statement")
            reset()
            throw failure
        }
    }

    /// Runs the statement to its end, and ignores its rows.
    func run() throws(StoreFailure) {
        while try step() {}
    }

    func reset() {
        sqlite3_reset(handle)
        bindingFailure = SQLITE_OK
    }

    // MARK: Binding (parameters start at 1)

    func bind(_ index: Int32, _ value: Int64) {
        note(sqlite3_bind_int64(handle, index, value))
    }

    func bind(_ index: Int32, _ value: Int64?) {
        note(value.map { sqlite3_bind_int64(handle, index, $0) } ?? sqlite3_bind_null(handle, index))
    }

    func bind(_ index: Int32, _ text: String) {
        var text = text
        note(
            text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) { characters in
                    // An empty buffer may have no address, and a null pointer would bind NULL.
                    guard let start = characters.baseAddress else {
                        return sqlite3_bind_text(handle, index, "", 0, nil)
                    }
                    return sqlite3_bind_text(handle, index, start, Int32(clamping: characters.count), Self.copied)
                }
            })
    }

    func bind(_ index: Int32, _ text: String?) {
        if let text { bind(index, text) } else { note(sqlite3_bind_null(handle, index)) }
    }

    func bind(_ index: Int32, _ id: RecordID) {
        note(
            id.bits.withBytes { bytes in
                sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count), Self.copied)
            })
    }

    func bind(_ index: Int32, text bytes: [UInt8]) {
        note(
            bytes.withUnsafeBytes { bytes in
                guard let start = bytes.bindMemory(to: CChar.self).baseAddress else {
                    return sqlite3_bind_text(handle, index, "", 0, nil)
                }
                return sqlite3_bind_text(handle, index, start, Int32(clamping: bytes.count), Self.copied)
            })
    }

    func bind(_ index: Int32, blob bytes: [UInt8]?) {
        guard let bytes else {
            note(sqlite3_bind_null(handle, index))
            return
        }
        note(
            bytes.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return sqlite3_bind_zeroblob(handle, index, 0) }
                return sqlite3_bind_blob(handle, index, start, Int32(clamping: bytes.count), Self.copied)
            })
    }

    func bind(_ index: Int32, _ value: FieldValue) {
        switch value {
        case .null: note(sqlite3_bind_null(handle, index))
        case .boolean(let value): note(sqlite3_bind_int64(handle, index, value ? 1 : 0))
        case .integer(let value): note(sqlite3_bind_int64(handle, index, value))
        case .real(let value): note(sqlite3_bind_double(handle, index, value))
        case .text(let value), .json(let value): bind(index, value)
        case .reference(let id): bind(index, id)
        }
    }

    /// Binds the value in a column of another statement's current row.
    func bind(_ index: Int32, valueOf other: Statement, _ column: Int32) {
        note(sqlite3_bind_value(handle, index, sqlite3_column_value(other.handle, column)))
    }

    private func note(_ code: Int32) {
        if bindingFailure == SQLITE_OK { bindingFailure = code }
    }

    // MARK: Columns of the current row (columns start at 0)

    var columnCount: Int32 { sqlite3_column_count(handle) }

    func columnName(_ column: Int32) -> String {
        sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }

    func isInteger(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER
    }

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    func real(_ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    /// Calls `body` with the bytes of a blob or text. They are valid only during the call.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = sqlite3_column_blob(handle, column)
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    func bytes(_ column: Int32) -> [UInt8] {
        withBytes(column) { Array($0) }
    }

    /// Returns the record id in a column of 16 bytes.
    func recordID(_ column: Int32) throws(StoreFailure) -> RecordID {
        guard let bits = withBytes(column, { Identifier128(bytes: $0) }) else {
            throw StoreFailure(.corrupt, "a record id in the database is not 16 bytes long")
        }
        return RecordID(bits: bits)
    }
}

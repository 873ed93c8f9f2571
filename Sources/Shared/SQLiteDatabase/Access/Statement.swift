package import CSQLite

/// A prepared statement. Not thread-safe: the lock that protects the connection protects its statements, too.
///
/// The hot functions are inlinable, because the stores call them for every value.
package final class Statement {
    @usableFromInline package let handle: OpaquePointer
    private let connection: OpaquePointer
    /// The result code of the first failed binding since the last reset. The next step throws it.
    @usableFromInline package private(set) var bindingCode: Int32 = SQLITE_OK

    /// A slot for each parameter, in which short texts and blobs are bound without an allocation by SQLite. A slot
    /// keeps its bytes until its parameter is bound again, because bindings outlive a reset. Nil until it is needed.
    private var slots: UnsafeMutableRawPointer?
    private lazy var slotCount = sqlite3_bind_parameter_count(handle)
    private static let slotBytes = 64

    /// SQLITE_TRANSIENT: SQLite copies the bound bytes.
    @usableFromInline package static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ sql: String, on connection: OpaquePointer) throws(DatabaseError) {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw DatabaseError(code, of: connection, while: "prepare a statement")
        }
        self.handle = handle
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(handle)
        slots?.deallocate()
    }

    // MARK: Running

    /// Steps to the next row. Returns false, and resets the statement, when there is none.
    @inlinable
    package func step() throws(DatabaseError) -> Bool {
        if bindingCode == SQLITE_OK {
            let code = sqlite3_step(handle)
            if code == SQLITE_ROW { return true }
            if code == SQLITE_DONE {
                sqlite3_reset(handle)
                return false
            }
            throw failure(code)
        }
        throw bindingFailure()
    }

    @usableFromInline
    package func failure(_ code: Int32) -> DatabaseError {
        let extended = sqlite3_extended_errcode(connection)
        let failure = DatabaseError(
            extended & 0xFF == code & 0xFF ? extended : code, of: connection, while: "carry out a statement")
        reset()
        return failure
    }

    @usableFromInline
    package func bindingFailure() -> DatabaseError {
        let code = bindingCode
        reset()
        return DatabaseError(code, while: "bind a value")
    }

    /// Runs the statement to its end, and ignores its rows.
    @inlinable
    package func run() throws(DatabaseError) {
        while try step() {}
    }

    /// Calls `body` with the first row, if there is one, and resets the statement.
    @inlinable
    package func first<Value>(_ body: (Statement) throws -> Value) throws -> Value? {
        defer { reset() }
        return try step() ? try body(self) : nil
    }

    /// Calls `body` for each row, and resets the statement, even after an error.
    @inlinable
    package func forEachRow(_ body: (Statement) throws -> Void) throws {
        defer { reset() }
        while try step() { try body(self) }
    }

    /// Returns the results of calling `body` for each row, and resets the statement, even after an error.
    @inlinable
    package func rows<Value>(_ body: (Statement) throws -> Value) throws -> [Value] {
        defer { reset() }
        var values: [Value] = []
        while try step() { values.append(try body(self)) }
        return values
    }

    /// Makes the statement ready to run again, and gives up its snapshot. The bindings stay.
    package func reset() {
        sqlite3_reset(handle)
        bindingCode = SQLITE_OK
    }

    // MARK: Binding (parameters start at 1)

    @inlinable
    package func bind(_ index: Int32, _ value: Int64) {
        check(sqlite3_bind_int64(handle, index, value))
    }

    @inlinable
    package func bind(_ index: Int32, _ value: Int64?) {
        check(value.map { sqlite3_bind_int64(handle, index, $0) } ?? sqlite3_bind_null(handle, index))
    }

    @inlinable
    package func bind(_ index: Int32, real value: Double) {
        check(sqlite3_bind_double(handle, index, value))
    }

    @inlinable
    package func bindNull(_ index: Int32) {
        check(sqlite3_bind_null(handle, index))
    }

    @inlinable
    package func bind(_ index: Int32, _ text: String) {
        var text = text
        check(text.withUTF8 { bind(index, text: UnsafeRawBufferPointer($0)) })
    }

    @inlinable
    package func bind(_ index: Int32, _ text: String?) {
        if let text { bind(index, text) } else { bindNull(index) }
    }

    @inlinable
    package func bind(_ index: Int32, text bytes: [UInt8]) {
        check(bytes.withUnsafeBytes { bind(index, text: $0) })
    }

    @inlinable
    package func bind(_ index: Int32, blob bytes: [UInt8]?) {
        if let bytes { bytes.withUnsafeBytes { bind(index, blob: $0) } } else { bindNull(index) }
    }

    @inlinable
    package func bind(_ index: Int32, blob bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address, and a null pointer would bind NULL.
        guard let start = bytes.baseAddress else { return check(sqlite3_bind_zeroblob(handle, index, 0)) }
        guard let slot = slot(of: index, for: bytes.count) else {
            return check(sqlite3_bind_blob(handle, index, start, Int32(clamping: bytes.count), Self.copied))
        }
        slot.copyMemory(from: start, byteCount: bytes.count)
        check(sqlite3_bind_blob(handle, index, slot, Int32(bytes.count), nil))
    }

    @inlinable
    package func bind(_ index: Int32, text bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let start = bytes.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, nil) }
        guard let slot = slot(of: index, for: bytes.count) else {
            return sqlite3_bind_text(
                handle, index, start.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count), Self.copied)
        }
        slot.copyMemory(from: start, byteCount: bytes.count)
        return sqlite3_bind_text(
            handle, index, slot.assumingMemoryBound(to: CChar.self), Int32(bytes.count), nil)
    }

    /// Returns the slot of a parameter; nil if the bytes do not fit, if there is no such parameter, or if the statement
    /// runs, and still reads the earlier bytes.
    @usableFromInline
    package func slot(of index: Int32, for count: Int) -> UnsafeMutableRawPointer? {
        guard count <= Self.slotBytes, index >= 1, index <= slotCount, sqlite3_stmt_busy(handle) == 0 else {
            return nil
        }
        if slots == nil { slots = .allocate(byteCount: Int(slotCount) * Self.slotBytes, alignment: 16) }
        return slots?.advanced(by: Int(index - 1) * Self.slotBytes)
    }

    /// Binds the value in a column of another statement's current row.
    package func bind(_ index: Int32, valueOf other: Statement, _ column: Int32) {
        check(sqlite3_bind_value(handle, index, sqlite3_column_value(other.handle, column)))
    }

    @inlinable
    package func check(_ code: Int32) {
        if code != SQLITE_OK { noteBinding(code) }
    }

    @usableFromInline
    package func noteBinding(_ code: Int32) {
        if bindingCode == SQLITE_OK { bindingCode = code }
    }

    // MARK: Columns of the current row (columns start at 0)

    package var columnCount: Int32 { sqlite3_column_count(handle) }

    package func columnName(_ column: Int32) -> String {
        sqlite3_column_name(handle, column).map { String(cString: $0) } ?? ""
    }

    package func isInteger(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER
    }

    /// The name of the first column whose text is not UTF-8; nil when all texts are UTF-8.
    package var columnOfInvalidText: String? {
        for column in 0..<columnCount where sqlite3_column_type(handle, column) == SQLITE_TEXT {
            let isValid = withBytes(column) { String(validating: $0, as: UTF8.self) != nil }
            if !isValid { return columnName(column) }
        }
        return nil
    }

    @inlinable
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    @inlinable
    package func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    @inlinable
    package func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    @inlinable
    package func real(_ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }

    @inlinable
    package func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
        return String(decoding: bytes, as: UTF8.self)
    }

    @inlinable
    package func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    /// Calls `body` with the bytes of a blob or text. The bytes are valid only during the call.
    @inlinable
    package func withBytes<Result, Failure: Error>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let start = sqlite3_column_blob(handle, column)
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    @inlinable
    package func bytes(_ column: Int32) -> [UInt8] {
        withBytes(column) { Array($0) }
    }
}

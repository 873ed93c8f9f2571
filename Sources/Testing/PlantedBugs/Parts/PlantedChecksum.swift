import CSQLite

/// The SQL function `planted_checksum(payload)`, with which the SQL of a bug stores a payload as a store does.
///
/// Otherwise, the store would find that the payload has changed, and the bug would prove nothing about the oracles.
enum PlantedChecksum {
    /// Makes the function available in all connections that this process opens from now on.
    static func register() {
        precondition(result == SQLITE_OK, "SQLite did not take the function: \(result)")
    }

    private static let result: Int32 = {
        let make: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32 = { connection, _, _ in
            sqlite3_create_function_v2(
                connection, "planted_checksum", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nil,
                { context, _, arguments in
                    let payload = arguments?[0]
                    let bytes = UnsafeBufferPointer(
                        start: sqlite3_value_text(payload), count: Int(sqlite3_value_bytes(payload)))
                    // FNV-1a with 64 bits, as the schema says.
                    let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
                        (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
                    }
                    sqlite3_result_int64(context, Int64(bitPattern: hash))
                }, nil, nil, nil)
        }
        // SQLite declares the type of the function without its parameters.
        return sqlite3_auto_extension(unsafeBitCast(make, to: (@convention(c) () -> Void).self))
    }()
}

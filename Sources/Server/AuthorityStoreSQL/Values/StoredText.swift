import SyncAuthority
import SyncModel
import SyncWire

/// Coding of the JSON texts in the database. They have the same form as on the wire.
enum StoredText {
    static func encode(_ patch: Patch) throws(AuthorityStoreError) -> [UInt8] {
        do throws(WireError) {
            return try PatchCodec.encode(patch)
        } catch {
            throw AuthorityStoreError(.unstorable, "a value cannot be stored: \(error)")
        }
    }

    static func patch(
        _ row: some SQLCursor, _ column: Int32, _ what: String
    ) throws(AuthorityStoreError) -> Patch {
        try decode(row, column, what, PatchCodec.decode)
    }

    /// Passes the fields of a patch to `body`, in their order in the column, which is that of their names.
    static func patch(
        _ row: some SQLCursor, _ column: Int32, _ what: String, each body: (FieldName, FieldValue) -> Void
    ) throws(AuthorityStoreError) {
        try decode(row, column, what) { (bytes) throws(WireError) in try PatchCodec.decode(bytes, each: body) }
    }

    static func encode(_ outcome: Outcome) throws(AuthorityStoreError) -> [UInt8] {
        do throws(WireError) {
            return try OutcomeCodec.encode(outcome)
        } catch {
            throw AuthorityStoreError(.unstorable, "an outcome cannot be stored: \(error)")
        }
    }

    static func outcome(
        _ row: some SQLCursor, _ column: Int32, _ what: String
    ) throws(AuthorityStoreError) -> Outcome {
        try decode(row, column, what, OutcomeCodec.decode)
    }

    static func encode(_ changes: [RecordChange]) throws(AuthorityStoreError) -> [UInt8] {
        do throws(WireError) {
            return try ChangesCodec.encode(changes)
        } catch {
            throw AuthorityStoreError(.unstorable, "a commit cannot be stored: \(error)")
        }
    }

    static func changes(
        _ row: some SQLCursor, _ column: Int32, _ what: String
    ) throws(AuthorityStoreError) -> [RecordChange] {
        try decode(row, column, what, ChangesCodec.decode)
    }

    /// Decodes the text in a column in place.
    private static func decode<Value>(
        _ row: some SQLCursor, _ column: Int32, _ what: String,
        _ decode: (UnsafeBufferPointer<UInt8>) throws(WireError) -> Value
    ) throws(AuthorityStoreError) -> Value {
        do throws(WireError) {
            return try row.withBytes(column) { (bytes) throws(WireError) in
                try decode(bytes.assumingMemoryBound(to: UInt8.self))
            }
        } catch {
            throw AuthorityStoreError(.corrupt, "\(what) cannot be read: \(error)")
        }
    }
}

extension PlainName {
    init(stored text: String, _ what: String) throws(AuthorityStoreError) {
        guard let name = Self(rawValue: text) else {
            throw AuthorityStoreError(.corrupt, "\(what) is not a valid name")
        }
        self = name
    }
}

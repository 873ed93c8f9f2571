package import SyncAuthority

/// A connection to a SQL database with an open transaction.
package protocol SQLSession: Sendable {
    associatedtype Cursor: SQLCursor

    /// A query for the number of records that each principal has created, and the length of their fields in bytes,
    /// which every database measures in its own way. Bytes 16 to 32 of a creation are the id of the client.
    static var recordsOfAccounts: StaticString { get }

    /// Runs a query and calls `body` with its rows, which are valid only during the call.
    ///
    /// - Parameters:
    ///   - action: the verb phrase for an error message: "read a record" makes "could not read a record".
    ///   - sql: a literal, so that its address identifies the prepared statement.
    ///   - values: the values of the placeholders `$1`, `$2`, and so on; nil stands for `NULL`.
    func query<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?], _ body: @Sendable (Cursor) throws -> Value
    ) throws(AuthorityStoreError) -> Value

    /// Runs a statement to its end.
    ///
    /// - Returns: the number of rows that it changed.
    func execute(_ action: String, _ sql: StaticString, _ values: [StoredValue?]) throws(AuthorityStoreError) -> Int
}

/// The rows of a query, one at a time. Columns are counted from 0.
package protocol SQLCursor {
    /// Moves to the next row. Returns false after the last one.
    func step() throws -> Bool

    func isNull(_ column: Int32) -> Bool
    func integer(_ column: Int32) -> Int64
    func text(_ column: Int32) -> String
    func optionalText(_ column: Int32) -> String?
    func bytes(_ column: Int32) -> [UInt8]
    /// Calls `body` with the bytes of a text or blob, without copying them.
    func withBytes<Result, Failure: Error>(
        _ column: Int32, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result
}

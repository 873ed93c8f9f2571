import SyncAuthority
import SyncModel

/// A transaction of the authority over a SQL database. It is valid only during the call that created it.
///
/// The statements are written once, in the SQL that SQLite and PostgreSQL share. Placeholders are `$1`, `$2`, and so
/// on. Their first occurrences are in ascending order, because SQLite numbers placeholders by their first occurrence.
package struct SQLTransaction<Session: SQLSession> {
    private let session: Session
    let known = KnownExtents()

    package init(_ session: Session) {
        self.session = session
    }

    /// Runs a statement to its end.
    ///
    /// - Returns: the number of rows that it changed.
    @discardableResult
    func execute(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?]
    ) throws(AuthorityStoreError) -> Int {
        try session.execute(action, sql, values)
    }

    /// Returns the result of `read` for the first row; nil if there is no row.
    func row<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?],
        _ read: @Sendable (Session.Cursor) throws -> Value
    ) throws(AuthorityStoreError) -> Value? {
        try use(action, sql, values) { cursor in try cursor.step() ? try read(cursor) : nil }
    }

    /// Returns the results of `read` for all rows, in order.
    func rows<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?],
        _ read: @Sendable (Session.Cursor) throws -> Value
    ) throws(AuthorityStoreError) -> [Value] {
        try use(action, sql, values) { cursor in
            var found: [Value] = []
            while try cursor.step() { found.append(try read(cursor)) }
            return found
        }
    }

    /// Calls `body` with the rows of a query.
    func use<Value: Sendable>(
        _ action: String, _ sql: StaticString, _ values: [StoredValue?],
        _ body: @Sendable (Session.Cursor) throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        try session.query(action, sql, values, body)
    }
}

/// The extents of spaces, and the ends of their change feeds, as a transaction has read or written them. Each commit of
/// a transaction needs them several times. Both stores let only one transaction write at a time.
final class KnownExtents {
    var extents: [SpaceID: SpaceExtent] = [:]
    var feedEnds: [SpaceID: FeedEnd] = [:]
}

/// The sums over a change feed up to one of its versions.
struct FeedEnd {
    let version: Version
    let fingerprint: HistoryFingerprint
    /// The size of all changes of the space up to the version, in bytes.
    let totalBytes: Int64
}

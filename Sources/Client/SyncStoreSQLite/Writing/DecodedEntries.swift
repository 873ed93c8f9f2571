import SQLiteDatabase
import SyncModel

/// The decoded transactions of outbox entries. The writer keeps them from one write to the next.
///
/// A page of a snapshot can touch every entry, because an import puts records into transactions in another order than
/// that of their ids. Without the cache, each page would decode the whole outbox.
///
/// Not thread-safe: the store's lock protects it.
final class DecodedEntries {
    private var transactions: [Int64: (transaction: Transaction, bytes: Int)] = [:]
    private var bytes = 0
    /// SQLite's count of the commits of other connections.
    private var otherCommits: Int64 = -1
    /// Whether the current write has changed the contents of an entry.
    private var hasChanged = false

    /// Forgets everything if another connection has committed since the last call. It must be called at the start of
    /// each write.
    func prepare(_ connection: Connection) throws {
        guard !transactions.isEmpty else { return otherCommits = try Self.otherCommits(connection) }
        let commits = try Self.otherCommits(connection)
        if commits != otherCommits { removeAll() }
        otherCommits = commits
    }

    private static func otherCommits(_ connection: Connection) throws -> Int64 {
        try connection.statement("PRAGMA data_version").first { $0.integer(0) } ?? 0
    }

    subscript(sequence: Int64) -> Transaction? { transactions[sequence]?.transaction }

    /// Keeps a transaction, unless the cache is full.
    ///
    /// - Parameter count: the length of its stored form in bytes.
    func keep(_ transaction: Transaction, at sequence: Int64, bytes count: Int) {
        guard bytes + count <= StoreLimits.decodedBytes else { return }
        transactions[sequence] = (transaction, count)
        bytes += count
    }

    /// Notes that this write adds, changes, or removes an entry. After a rollback, a new entry gets the same sequence.
    func changed(_ sequence: Int64) {
        hasChanged = true
        if let old = transactions.removeValue(forKey: sequence) { bytes -= old.bytes }
    }

    /// Keeps what a write has decoded. It must be called after each commit.
    func committed() {
        hasChanged = false
    }

    /// Forgets what a write that was rolled back may have decoded. It must be called after each such write.
    func rolledBack() {
        if hasChanged { removeAll() }
        hasChanged = false
    }

    private func removeAll() {
        transactions = [:]
        bytes = 0
    }
}

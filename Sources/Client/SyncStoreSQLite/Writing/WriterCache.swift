import SQLiteDatabase
import SyncModel

/// The memory of the writer from one write to the next: the row of `sync_meta`, the keys of spaces, and the decoded
/// transactions of outbox entries.
///
/// Almost every write needs the first two. A page of a snapshot can touch every entry, because an import puts records
/// into transactions in another order than that of their ids. Without the cache, each page would decode the whole
/// outbox.
///
/// Not thread-safe: the store's lock protects it.
final class WriterCache {
    /// The row of `sync_meta`; nil when it must be read.
    var meta: Meta?
    /// The keys of the spaces that the device follows, as far as they have been read.
    var spaceKeys: [SpaceID: Int64] = [:]
    private var transactions: [Int64: (transaction: Transaction, bytes: Int)] = [:]
    private var bytes = 0
    /// Whether a write has used the cache since the last commit or rollback.
    private var isInUse = false
    /// SQLite's count of the commits of other connections.
    private var otherCommits: Int64 = -1
    /// Whether the current write has changed the contents of an entry.
    private var hasChanged = false

    /// Forgets everything if another connection has committed since the last call. It must be called at the start of
    /// each write.
    func prepare(_ connection: Connection) throws {
        isInUse = true
        let commits = try connection.statement("PRAGMA data_version").first { $0.integer(0) } ?? 0
        if commits != otherCommits {
            forgetState()
            removeAll()
        }
        otherCommits = commits
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

    /// Keeps everything that a write has stored and decoded. It must be called after each commit.
    func committed() {
        isInUse = false
        hasChanged = false
    }

    /// Forgets everything that a write that was rolled back may have stored or decoded. It must be called after each
    /// rollback. A transaction that only looks at the database, such as that of a watcher, has not used the cache.
    func rolledBack() {
        guard isInUse else { return }
        isInUse = false
        forgetState()
        if hasChanged { removeAll() }
        hasChanged = false
    }

    /// Forgets everything that a part of a transaction may have stored or decoded. It must be called after each
    /// rollback to a savepoint.
    func rolledBackToSavepoint() {
        forgetState()
        // `hasChanged` stays true, because the whole transaction may still be rolled back.
        if hasChanged { removeAll() }
    }

    private func forgetState() {
        meta = nil
        spaceKeys = [:]
    }

    private func removeAll() {
        transactions = [:]
        bytes = 0
    }
}

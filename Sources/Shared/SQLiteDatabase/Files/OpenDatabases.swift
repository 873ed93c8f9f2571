import SyncConcurrency

/// Counts the connections of this process to each database file.
///
/// SQLite holds locks on a database and on its WAL index. If this process opens and closes one of these files by
/// itself, the system releases these locks (https://sqlite.org/howtocorrupt.html, 2.2). So nobody may do that while a
/// connection is open.
final class OpenDatabases: Sendable {
    static let shared = OpenDatabases()

    private let counts = Guarded<[DatabaseFiles.Identity: Int]>([:])

    /// Notes a new connection. Must be called before its first statement.
    func opened(_ identity: DatabaseFiles.Identity) {
        counts.withLock { $0[identity, default: 0] += 1 }
    }

    func closed(_ identity: DatabaseFiles.Identity) {
        counts.withLock { counts in
            let rest = counts[identity, default: 1] - 1
            counts[identity] = rest == 0 ? nil : rest
        }
    }

    /// Calls `body` if no connection of this process is open, and lets none open meanwhile. Otherwise, returns nil.
    func ifClosed<Value>(_ files: DatabaseFiles, _ body: () -> Value?) -> Value? {
        guard let identity = files.identity() else { return nil }
        return counts.withLock { counts in counts[identity] == nil ? body() : nil }
    }
}

import Dispatch
import SyncAuthority
import SyncConcurrency

/// A bounded number of connections, opened on first use. A caller waits for a free one.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var isClosed = false
    }

    private let state: Guarded<State>
    private let free: DispatchSemaphore
    private let open: @Sendable () throws -> PostgresConnection

    /// - Parameters:
    ///   - count: the number of concurrent transactions; at least one.
    ///   - first: a connection that is open already.
    ///   - open: opens another one.
    init(
        count: Int, first: PostgresConnection? = nil, open: @escaping @Sendable () throws -> PostgresConnection
    ) {
        state = Guarded(State(idle: first.map { [$0] } ?? []))
        free = DispatchSemaphore(value: max(count, 1))
        self.open = open
    }

    /// The statements that begin a transaction.
    enum Beginning {
        case write(String)
        /// The statements are followed by `PostgresConnection.readOnlyQuery`. If the server of a session takes no
        /// writes, another one may take them now, and this one may be behind it. Such a session is replaced by a new
        /// one each time.
        case read(String)

        fileprivate var statements: String {
            switch self {
            case .write(let statements): statements
            case .read(let statements): "\(statements); \(PostgresConnection.readOnlyQuery)"
            }
        }

        fileprivate func finds(readOnly tag: String) -> Bool {
            switch self {
            case .write: false
            case .read: tag == PostgresConnection.readOnlyTag
            }
        }
    }

    /// Calls `body` with a connection in a transaction, and commits it.
    ///
    /// A connection that was lost while it was idle is replaced. If a connection is lost during the transaction, the
    /// call throws, and it is unknown whether a commit took effect.
    func transaction<Result>(_ begin: Beginning, _ body: (PostgresSession) throws -> Result) throws -> Result {
        free.wait()
        defer { free.signal() }
        let (connection, isReadOnly) = try begun(begin)
        var isUseful = !isReadOnly
        defer { if isUseful { put(connection) } }
        do {
            let result = try body(PostgresSession(connection))
            let tag: String
            do throws(PostgresError) {
                tag = try connection.run("COMMIT")
            } catch {
                throw connection.isLost ? error.withUnknownEffect : error
            }
            // In a transaction in which a statement failed, COMMIT rolls back, without an error.
            guard tag == "COMMIT" else { throw PostgresError(.inputOutput, "the transaction was rolled back") }
            return result
        } catch {
            // A session keeps the access with which it began, for example while an operator let nobody write, because
            // the disk was full. A new session may have another, and may reach another host.
            if (error as? AuthorityStoreError)?.code == .readOnly || (error as? PostgresError)?.isReadOnly == true {
                isUseful = false
            }
            // The first error is the one to report.
            if !connection.isLost { _ = try? connection.run("ROLLBACK") }
            throw error
        }
    }

    private func begun(_ begin: Beginning) throws -> (connection: PostgresConnection, isReadOnly: Bool) {
        if let idle = try take() {
            do throws(PostgresError) {
                let tag = try idle.run(begin.statements)
                if !begin.finds(readOnly: tag) { return (idle, false) }
            } catch {
                if error.isBusy {
                    _ = try? idle.run("ROLLBACK")
                    put(idle)
                    throw error
                }
                // The database has ended the idle connection. The transaction has not begun, so another connection can
                // be used.
            }
        }
        let connection = try open()
        do throws(PostgresError) {
            let tag = try connection.run(begin.statements)
            return (connection, begin.finds(readOnly: tag))
        } catch {
            if !connection.isLost { _ = try? connection.run("ROLLBACK") }
            put(connection)
            throw error
        }
    }

    private func take() throws(PostgresError) -> PostgresConnection? {
        try state.withLock { (state) throws(PostgresError) in
            guard !state.isClosed else { throw PostgresError(.inputOutput, "the database is closed") }
            return state.idle.popLast()
        }
    }

    private func put(_ connection: PostgresConnection) {
        guard !connection.isLost else { return }
        state.withLock { state in
            if !state.isClosed { state.idle.append(connection) }
        }
    }

    /// Closes the idle connections, and the others at the end of their transactions. Later transactions fail.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.idle = []
        }
    }
}

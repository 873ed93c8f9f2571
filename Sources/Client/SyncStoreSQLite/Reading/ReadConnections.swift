import SyncConcurrency
import SyncCore

/// The connections for readers, opened on first use. Readers never wait for the writer, and seldom for each other.
final class ReadConnections: Sendable {
    private enum Slot {
        case unused
        case open(Connection)
        case closed
    }

    private struct Use {
        var busy: [Bool]
        var next = 0
    }

    private let slots: [Guarded<Slot>]
    private let use: Guarded<Use>
    private let uri: String
    private let tables: [RecordTable]
    private let busyTimeout: Duration
    private let check: @Sendable () throws(StoreFailure) -> Void

    /// Creates the pool without opening a connection.
    ///
    /// - Parameter check: throws if another file has replaced the one that the store opened.
    init(
        count: Int, uri: String, tables: [RecordTable], busyTimeout: Duration,
        check: @escaping @Sendable () throws(StoreFailure) -> Void
    ) {
        let count = max(count, 1)
        slots = (0..<count).map { _ in Guarded(Slot.unused) }
        use = Guarded(Use(busy: Array(repeating: false, count: count)))
        self.uri = uri
        self.tables = tables
        self.busyTimeout = busyTimeout
        self.check = check
    }

    /// Calls `body` with a connection that nobody else uses during the call.
    func read<Value: Sendable>(
        _ body: @Sendable (Connection) throws(StoreFailure) -> Value
    ) throws(StoreFailure) -> Value {
        let index = use.withLock { use in
            // Take an idle connection, or else wait for the next one in turn.
            if let idle = use.busy.firstIndex(of: false) {
                use.busy[idle] = true
                return idle
            }
            use.next = (use.next + 1) % use.busy.count
            return use.next
        }
        defer { use.withLock { $0.busy[index] = false } }
        return try slots[index].withLock { slot throws(StoreFailure) in
            switch slot {
            case .open(let connection): return try body(connection)
            case .closed: throw .closed
            case .unused:
                let connection = try open()
                slot = .open(connection)
                return try body(connection)
            }
        }
    }

    private func open() throws(StoreFailure) -> Connection {
        let connection = try Connection(opening: uri, tables: tables, busyTimeout: busyTimeout)
        try check()
        try Writer.harden(connection)
        try connection.execute("PRAGMA query_only = ON")
        return connection
    }

    /// Closes the connections after their current reads have ended. Later reads throw.
    func close() {
        for slot in slots { slot.withLock { $0 = .closed } }
    }
}

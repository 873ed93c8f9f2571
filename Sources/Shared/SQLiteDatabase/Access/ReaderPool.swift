import SyncConcurrency

/// Connections for readers, opened on first use. Readers never wait for the writer, and seldom for each other.
package final class ReaderPool: Sendable {
    private struct Use {
        /// The number of reads that use or wait for each connection.
        var readers: [Int]
        var next = 0
    }

    private let connections: [SharedConnection]
    private let use: Guarded<Use>

    /// Creates the pool without opening a connection.
    ///
    /// - Parameters:
    ///   - count: the number of concurrent reads; at least one.
    ///   - open: opens a connection.
    package init(count: Int, open: @escaping @Sendable () throws -> Connection) {
        let count = max(count, 1)
        connections = (0..<count).map { _ in
            SharedConnection {
                let connection = try open()
                try connection.refuseWrites()
                return connection
            }
        }
        use = Guarded(Use(readers: Array(repeating: 0, count: count)))
    }

    /// Calls `body` with a connection that nobody else uses during the call.
    package func read<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
        try withConnection { try $0.use(body) }
    }

    /// Calls `body` with a connection that other threads may use, too. To use the connection several times in a row,
    /// `body` calls `SharedConnection.inTurn(_:)`.
    package func withConnection<Result>(_ body: (SharedConnection) throws -> Result) throws -> Result {
        let index = use.withLock { use in
            // Take an idle connection, or else wait for the next one in turn.
            let idle = use.readers.firstIndex(of: 0)
            if idle == nil { use.next = (use.next + 1) % use.readers.count }
            let index = idle ?? use.next
            use.readers[index] += 1
            return index
        }
        defer { use.withLock { $0.readers[index] -= 1 } }
        return try body(connections[index])
    }

    /// Closes the connections after their current reads have ended. Later reads throw.
    package func close() {
        for connection in connections { connection.close() }
    }
}

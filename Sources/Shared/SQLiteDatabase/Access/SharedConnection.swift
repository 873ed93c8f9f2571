import SyncConcurrency

/// A connection that threads use in turn. It is opened on first use.
package final class SharedConnection: Sendable {
    private enum State {
        case unopened(@Sendable () throws -> Connection)
        case open(Connection)
        case closed
    }

    private let state: Guarded<State>
    /// Held during a turn that consists of several uses.
    private let turn = Guarded(())

    /// - Parameter open: opens the connection; called again if it throws.
    package init(_ open: @escaping @Sendable () throws -> Connection) {
        state = Guarded(.unopened(open))
    }

    /// Takes over a connection that is already open.
    package init(_ connection: sending Connection) {
        state = Guarded(.open(connection))
    }

    /// Calls `body` with the connection, while no other thread uses it.
    package func use<Value: Sendable>(_ body: @Sendable (Connection) throws -> Value) throws -> Value {
        try state.withLock { state in
            switch state {
            case .open(let connection): return try body(connection)
            case .closed: throw DatabaseError(.closed, "the database has been closed")
            case .unopened(let open):
                let connection = try open()
                state = .open(connection)
                return try body(connection)
            }
        }
    }

    /// Calls `body`, which may use the connection several times, while no other thread has a turn.
    package func inTurn<Result>(_ body: () throws -> Result) throws -> Result {
        var result: Result?
        try turn.withLock { _ in result = try body() }
        guard let result else { preconditionFailure("the body has returned") }
        return result
    }

    /// Whether `close()` was called. Waits for the current use.
    package var isClosed: Bool {
        state.withLock { if case .closed = $0 { true } else { false } }
    }

    /// Closes the connection after the current turn. Later uses throw.
    package func close() {
        turn.withLock { _ in state.withLock { $0 = .closed } }
    }
}

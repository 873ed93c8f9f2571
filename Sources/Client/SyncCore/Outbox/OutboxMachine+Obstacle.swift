extension OutboxMachine {
    /// The reason why the outbox waits.
    package enum Obstacle: Hashable, Sendable {
        case transport(TransportFailure)
        case store(StoreFailure)
        case identity(String)
    }
}

extension OutboxMachine.Obstacle {
    /// The pause that the server asked for.
    var retryAfter: Duration? {
        switch self {
        case .transport(let failure): failure.retryAfter
        case .store, .identity: nil
        }
    }

    var message: String {
        switch self {
        case .transport(let failure): failure.message
        case .store(let failure): failure.message
        case .identity(let reason): reason
        }
    }
}

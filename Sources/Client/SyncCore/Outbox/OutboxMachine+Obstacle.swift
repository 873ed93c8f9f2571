extension OutboxMachine {
    /// The reason why the outbox waits.
    package enum Obstacle: Hashable, Sendable {
        case transport(TransportError)
        case store(StoreError)
        /// The server refuses each new identity of the device, or its change feed lacks transactions that it has
        /// confirmed. The value is the message.
        case identity(String)
    }
}

extension OutboxMachine.Obstacle {
    /// The pause that the server asked for; nil if it asked for none.
    var retryAfter: Duration? {
        switch self {
        case .transport(let failure): failure.retryAfter
        case .store, .identity: nil
        }
    }

    /// The code of the obstacle in the local database, where other programs can read it.
    var code: String {
        switch self {
        case .transport(let failure): failure.code.rawValue
        case .store(let failure): failure.contactCode
        case .identity: ServerContact.Failure.identity
        }
    }

    /// The message for the status, which names the local store if that has failed.
    var statusMessage: String {
        if case .store(let failure) = self { failure.statusMessage } else { message }
    }

    var message: String {
        switch self {
        case .transport(let failure): failure.message
        case .store(let failure): failure.message
        case .identity(let reason): reason
        }
    }
}

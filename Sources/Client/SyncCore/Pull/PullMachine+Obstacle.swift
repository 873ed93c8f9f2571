package import SyncModel

extension PullMachine {
    /// The reason why a pull waits.
    package enum Obstacle: Hashable, Sendable {
        case transport(TransportError)
        case store(StoreError)
        case reset(ResetReason)
        /// The server's head is below a version that it has confirmed, but its epoch has not changed.
        case historyInDoubt(confirmed: Version, head: Version)
        /// The server's response contradicts itself or the store. A fresh snapshot follows, except after the first
        /// contradiction. The outbox stays.
        case contradiction(String)
    }
}

extension PullMachine.Obstacle {
    /// Whether the wait must last to its end, even when a person requests a sync.
    var isBinding: Bool {
        switch self {
        case .transport(let failure): failure.asksForPause
        case .store, .historyInDoubt, .contradiction: false
        case .reset: true
        }
    }

    /// Whether the wait continues when there is contact again, because pulls of this space have lost it before.
    var outlastsContact: Bool {
        guard case .transport(let failure) = self else { return false }
        return switch failure.code {
        case .unreachable, .unauthorized, .otherAccount, .incompatible: true
        case .timedOut, .forbidden, .tooLarge, .throttled, .serverFailed, .refused, .notUnderstood, .cancelled: false
        }
    }

    func needsSnapshot(after contradictions: Int) -> Bool {
        switch self {
        case .transport, .store, .historyInDoubt: false
        case .reset: true
        case .contradiction: contradictions > 1
        }
    }

    /// The pause that the server asked for; nil if it asked for none.
    var retryAfter: Duration? {
        switch self {
        case .transport(let failure): failure.retryAfter
        case .store, .reset, .historyInDoubt, .contradiction: nil
        }
    }

    /// The code of the obstacle in the local database, where other programs can read it.
    var code: String {
        switch self {
        case .transport(let failure): failure.code.rawValue
        case .store(let failure): failure.contactCode
        case .contradiction: ServerContact.Failure.contradiction
        case .reset: "reset"
        case .historyInDoubt: ServerContact.Failure.historyInDoubt
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
        case .contradiction(let message): message
        case .reset(.horizon): "the server can no longer tell which changes this device has missed"
        case .reset(.epoch): "the server's history has changed"
        case .historyInDoubt(let confirmed, let head):
            "the server has confirmed version \(confirmed) to this device, but is now at version \(head): it was probably restored from an older copy; ask its operator to run syncd epoch renew"
        case .reset(.cursor):
            "the server does not accept this device's cursor, although it has given it one before"
        }
    }
}

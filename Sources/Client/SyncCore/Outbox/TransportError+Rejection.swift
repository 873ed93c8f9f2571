import SyncModel

extension TransportError {
    /// The rejection that the journal shows for a transaction that the server refuses to take.
    var rejection: Rejection {
        let reason: RejectionCode =
            switch code {
            case .tooLarge: .tooLarge
            case .forbidden: .forbidden
            case .unreachable, .timedOut, .unauthorized, .otherAccount, .throttled, .serverFailed, .incompatible,
                .refused, .notUnderstood, .cancelled:
                .malformed
            }
        return Rejection(code: reason, message: message, mutation: nil)
    }
}

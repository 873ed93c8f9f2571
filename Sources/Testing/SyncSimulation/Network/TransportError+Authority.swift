package import SyncAuthority
package import SyncCore

extension TransportError {
    /// Creates the error that a client gets over HTTP for an error of the authority.
    package init(_ failure: AuthorityError) {
        let code: Code =
            switch failure.code {
            case .otherAccount: .otherAccount
            case .malformed: .refused
            case .tooLarge: .tooLarge
            case .quotaExceeded: .throttled
            case .unavailable: .serverFailed
            }
        self.init(code, failure.message, retryAfter: failure.retryAfter, isDefinite: true)
    }
}

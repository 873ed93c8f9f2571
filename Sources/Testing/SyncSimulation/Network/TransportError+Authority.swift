package import SyncAuthority
package import SyncCore

extension TransportError {
    /// Creates the failure that a client gets for an authority's failure over HTTP.
    package init(_ failure: AuthorityError) {
        let code: Code =
            switch failure.code {
            case .otherAccount: .otherAccount
            case .malformed: .refused
            case .tooLarge: .tooLarge
            case .unavailable: .serverFailed
            }
        self.init(code, failure.message, retryAfter: failure.retryAfter, isDefinite: true)
    }
}

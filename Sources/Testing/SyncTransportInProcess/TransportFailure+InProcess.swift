package import SyncAuthority
package import SyncCore
package import SyncWire

extension TransportFailure {
    /// Creates the failure that a client gets for an authority's failure, as an HTTP server would.
    package init(_ failure: AuthorityFailure) {
        let code: Code =
            switch failure.code {
            case .otherAccount: .otherAccount
            case .malformed: .refused
            case .tooLarge: .tooLarge
            case .unavailable: .serverFailed
            }
        self.init(code, failure.message, retryAfter: failure.retryAfter, isDefinite: true)
    }

    /// Creates the failure for a request that the server could not decode.
    package init(unreadableRequest error: WireError) {
        self.init(.refused, error.message, isDefinite: true)
    }

    /// Creates the failure for a reply that the client could not decode.
    package init(unreadableReply error: WireError) {
        self.init(.notUnderstood, error.message)
    }

    /// Creates the failure for a request that the client could not encode.
    package init(unwritableRequest error: WireError) {
        self.init(.refused, error.message, isDefinite: true)
    }
}

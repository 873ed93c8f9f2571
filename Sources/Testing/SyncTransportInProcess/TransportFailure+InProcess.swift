package import SyncAuthority
package import SyncCore
package import SyncWire

extension TransportFailure {
    /// Translates an authority's failure for a client, as an HTTP server would.
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

    /// The server could not read the request.
    package init(unreadableRequest error: WireError) {
        self.init(.refused, error.message, isDefinite: true)
    }

    /// The client could not read the reply.
    package init(unreadableReply error: WireError) {
        self.init(.notUnderstood, error.message)
    }

    /// The client could not write the request: a value in it has no form on the wire.
    package init(unwritableRequest error: WireError) {
        self.init(.refused, error.message, isDefinite: true)
    }
}

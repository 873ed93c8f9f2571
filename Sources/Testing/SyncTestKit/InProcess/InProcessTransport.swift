public import SyncAuthority
public import SyncCore
public import SyncModel

/// A transport to a server in the same process.
///
/// Calls pass through the wire codec in both directions, so that client and server share no memory. A call blocks its
/// thread while the authority works.
public struct InProcessTransport: RemoteTransport {
    private let endpoint: AuthorityEndpoint

    /// Creates a transport for one principal.
    ///
    /// - Parameters:
    ///   - principal: the authenticated user of the calls.
    ///   - now: the server's wall clock.
    public init(
        authority: any AuthorityService, catalog: SchemaCatalog, principal: Principal,
        now: @escaping @Sendable () -> WallTime
    ) {
        endpoint = AuthorityEndpoint(authority: authority, catalog: catalog, principal: principal, now: now)
    }

    public func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        try await request.exchanged(endpoint.catalog) { (call, body) async throws(TransportError) in
            if Task.isCancelled { throw TransportError(.cancelled, "\(call.rawValue): the caller gave up") }
            return try await endpoint.exchange(call, body)
        }
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        endpoint.hints(for: spaces)
    }
}

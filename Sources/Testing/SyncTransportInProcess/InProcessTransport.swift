public import SyncAuthority
public import SyncCore
public import SyncModel
import SyncWire

/// A transport to a server in the same process.
///
/// Calls pass through the wire codec in both directions, so that client and server share no memory. A call blocks its
/// thread while the authority works.
public struct InProcessTransport: RemoteTransport {
    private let endpoint: AuthorityEndpoint
    private let client: ByteClient

    /// - Parameters:
    ///   - principal: the authenticated user of the calls.
    ///   - now: the server's wall clock.
    public init(
        authority: any AuthorityService, catalog: SchemaCatalog, principal: Principal,
        now: @escaping @Sendable () -> WallTime
    ) {
        let endpoint = AuthorityEndpoint(authority: authority, catalog: catalog, principal: principal, now: now)
        self.endpoint = endpoint
        client = ByteClient(catalog: catalog) { (call, body) throws(TransportFailure) in
            if Task.isCancelled { throw TransportFailure(.cancelled, "\(call.rawValue): the caller gave up") }
            return try endpoint.exchange(call, body)
        }
    }

    public func hello() async throws(TransportFailure) -> ServerHello {
        try await client.hello()
    }

    public func push(_ request: PushRequest) async throws(TransportFailure) -> PushReply {
        try await client.push(request)
    }

    public func pull(_ request: PullRequest) async throws(TransportFailure) -> PullReply {
        try await client.pull(request)
    }

    public func fetch(_ request: FetchRequest) async throws(TransportFailure) -> Record? {
        try await client.fetch(request)
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        endpoint.hints(for: spaces)
    }
}

extension AuthorityEndpoint {
    /// Performs a call, and throws the failure that a remote client would get.
    package func exchange(_ call: ServerCall, _ body: [UInt8]) throws(TransportFailure) -> [UInt8]? {
        do {
            return try answer(call, body)
        } catch let failure as AuthorityFailure {
            throw TransportFailure(failure)
        } catch let error as WireError {
            throw error.code == .unencodable
                ? TransportFailure(.serverFailed, error.message) : TransportFailure(unreadableRequest: error)
        } catch {
            throw TransportFailure(.serverFailed, "\(call.rawValue) failed")
        }
    }
}

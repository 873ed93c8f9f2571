public import SyncModel

/// The connection to a server. It is stateless: each call stands alone and may be repeated.
///
/// An implementation gives up when its task is cancelled, and limits how much it reads. It may take longer than the
/// caller wants to wait, because the engine has its own deadlines.
public protocol RemoteTransport: Sendable {
    /// The address of the server. A pause that the server asks for applies only to this address.
    ///
    /// The default is nil: the address is unknown, and a pause of any server applies.
    var serverAddress: String? { get }

    /// Sends a request, and returns the response to it.
    ///
    /// When this throws, the server may or may not have carried out the request.
    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse

    /// Returns a stream of hints about commits in `spaces`, which ends with the connection.
    ///
    /// The stream begins with the newest version of each space, so that it covers commits made before it was opened.
    /// The engine polls less often only after a stream has delivered a hint.
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error>
}

extension RemoteTransport {
    public var serverAddress: String? { nil }

    /// Returns the server's hello: the protocol versions that it speaks, its history, and its limits.
    public func hello() async throws(TransportError) -> ServerHello {
        guard case .hello(let hello) = try await send(.hello) else { throw .otherCall }
        return hello
    }

    /// Sends transactions.
    ///
    /// When this throws, the server may or may not have applied them. Send the same transactions again.
    public func push(_ request: PushRequest) async throws(TransportError) -> PushResponse {
        guard case .push(let response) = try await send(.push(request)) else { throw .otherCall }
        return response
    }

    /// Returns the next page of changes in a space.
    public func pull(_ request: PullRequest) async throws(TransportError) -> PullResponse {
        guard case .pull(let response) = try await send(.pull(request)) else { throw .otherCall }
        return response
    }

    /// Returns one record as the server has it now, or nil when it has none that this principal may see.
    public func fetch(_ request: FetchRequest) async throws(TransportError) -> Record? {
        guard case .fetch(let record) = try await send(.fetch(request)) else { throw .otherCall }
        return record
    }
}

extension TransportError {
    fileprivate static let otherCall = TransportError(.notUnderstood, "the response belongs to another call")
}

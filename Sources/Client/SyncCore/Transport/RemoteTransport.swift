public import SyncModel

/// The connection to a server. It is stateless: each call stands alone and may be repeated.
///
/// An implementation gives up when its task is cancelled, and limits how much it reads. It may take longer than the
/// caller wants to wait, because the engine has its own deadlines.
public protocol RemoteTransport: Sendable {
    /// The address of the server. A pause that the server asks for applies only to this address.
    ///
    /// The default is nil: there is only one server.
    var serverAddress: String? { get }

    /// Returns the server's hello: the protocol versions that it speaks, its history, and its limits.
    func hello() async throws(TransportFailure) -> ServerHello

    /// Sends transactions.
    ///
    /// When this throws, the server may or may not have applied them. Send the same transactions again.
    func push(_ request: PushRequest) async throws(TransportFailure) -> PushReply

    func pull(_ request: PullRequest) async throws(TransportFailure) -> PullReply

    /// Returns one record as the server has it now, or nil when it has none that this principal may see.
    func fetch(_ request: FetchRequest) async throws(TransportFailure) -> Record?

    /// Returns a stream of hints about commits in `spaces`, which ends with the connection.
    ///
    /// The stream begins with the newest version of each space, so that it covers commits made before it was opened.
    /// The engine polls less often only after a stream has delivered a hint.
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error>
}

extension RemoteTransport {
    public var serverAddress: String? { nil }
}

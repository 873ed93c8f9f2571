public import SyncModel

/// The way to a server. Stateless: each call stands alone, and may be repeated.
///
/// An implementation gives up when its task is cancelled, and bounds what it reads. It may take longer than a
/// caller wants to wait: the engine has deadlines of its own.
public protocol RemoteTransport: Sendable {
    /// Greets the server: is it there, what does it speak, which history has it.
    func hello() async throws(TransportFailure) -> ServerHello

    /// Sends transactions. When this throws, the server may or may not have applied them: send the same ones again.
    func push(_ request: PushRequest) async throws(TransportFailure) -> PushReply

    func pull(_ request: PullRequest) async throws(TransportFailure) -> PullReply

    /// One record, as the server has it now; nil when it has none, or none that this principal may see.
    func fetch(_ request: FetchRequest) async throws(TransportFailure) -> Record?

    /// Tells when something was committed in one of `spaces`, until the connection ends.
    ///
    /// It begins with the newest version of each space, so that what was committed before it listened is told too: the
    /// engine polls less often only once a stream has told something.
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error>
}

public import SyncModel

/// Makes the commands that the engine executes against the server.
///
/// The engine decides when a command is needed, and executes it. Only the provider knows how the server is reached:
/// `TransportCommands` uses a transport, and a test can return commands that record their execution.
public protocol CommandProvider: Sendable {
    /// The address of the server, as `RemoteTransport.serverAddress`.
    ///
    /// The default is nil: the address is unknown, and a pause of any server applies.
    var serverAddress: String? { get }

    /// Returns the command that requests the server's hello.
    func hello() -> ServerCommand<ServerHello>

    /// Returns the command that sends transactions.
    func push(_ request: PushRequest) -> ServerCommand<PushResponse>

    /// Returns the command that requests the next page of a space.
    func pull(_ request: PullRequest) -> ServerCommand<PullResponse>

    /// Returns a stream of hints about commits in `spaces`, as `RemoteTransport.hints(for:)` does.
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error>
}

extension CommandProvider {
    public var serverAddress: String? { nil }
}

public import SyncModel

/// A provider of commands that send their requests over a transport.
public struct TransportCommands: CommandProvider {
    private let transport: any RemoteTransport

    /// Creates a provider whose commands send each request once. The engine repeats a request if necessary.
    public init(_ transport: any RemoteTransport) {
        self.transport = transport
    }

    public var serverAddress: String? { transport.serverAddress }

    public func hello() -> ServerCommand<ServerHello> {
        ServerCommand { [transport] () async throws(TransportError) in try await transport.hello() }
    }

    public func push(_ request: PushRequest) -> ServerCommand<PushResponse> {
        ServerCommand { [transport] () async throws(TransportError) in try await transport.push(request) }
    }

    public func pull(_ request: PullRequest) -> ServerCommand<PullResponse> {
        ServerCommand { [transport] () async throws(TransportError) in try await transport.pull(request) }
    }

    public func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        transport.hints(for: spaces)
    }
}

/// A request to the server, ready to be sent. Each execution sends it again, which is safe for every request.
public struct ServerCommand<Response: Sendable>: Sendable {
    private let body: @Sendable () async throws(TransportError) -> Response

    /// Creates a command from the closure that sends the request.
    ///
    /// - Parameter body: Sends the request. It must give up when its task is cancelled.
    public init(_ body: @escaping @Sendable () async throws(TransportError) -> Response) {
        self.body = body
    }

    /// Sends the request and returns the response.
    ///
    /// When this throws, the server may or may not have carried out the request.
    public func execute() async throws(TransportError) -> Response {
        try await body()
    }
}

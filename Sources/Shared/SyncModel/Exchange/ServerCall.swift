/// The calls of the protocol. Each is one request, which gets one response.
///
/// `SyncWire` gives each call its route and its codecs.
public enum ServerCall: String, Hashable, Sendable, CaseIterable {
    case hello, push, pull, fetch
}

/// A request to the server.
public enum ServerRequest: Hashable, Sendable {
    case hello
    case push(PushRequest)
    case pull(PullRequest)
    case fetch(FetchRequest)

    /// The call that the request makes.
    public var call: ServerCall {
        switch self {
        case .hello: .hello
        case .push: .push
        case .pull: .pull
        case .fetch: .fetch
        }
    }
}

/// The server's response to a request.
public enum ServerResponse: Hashable, Sendable {
    case hello(ServerHello)
    case push(PushResponse)
    case pull(PullResponse)
    /// Nil when there is no such record, or none that the principal may see.
    case fetch(Record?)
}

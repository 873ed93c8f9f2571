/// The calls of the protocol. Each is one request, which gets one response.
///
/// `SyncWire` gives each call its route and its codecs.
public enum ServerCall: String, Hashable, Sendable, CaseIterable {
    /// Asks the server to describe itself, to check that it can be reached.
    case hello
    /// Sends a batch of transactions. It may be repeated: each transaction takes effect once.
    case push
    /// Reads the next page of one space.
    case pull
    /// Reads the current state of one record, without its history.
    case fetch
}

/// A request to the server.
public enum ServerRequest: Hashable, Sendable {
    /// Asks for the server's description of itself.
    case hello
    /// Sends transactions and asks for their outcomes.
    case push(PushRequest)
    /// Asks for the next page of one space.
    case pull(PullRequest)
    /// Asks for the current state of one record.
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
    /// The description of the server.
    case hello(ServerHello)
    /// The outcomes of the transactions, or the reason why the server took none.
    case push(PushResponse)
    /// The page, or the reason why there is none.
    case pull(PullResponse)
    /// Nil when there is no such record, or none that the principal may see.
    case fetch(Record?)
}

public import SyncCore
public import SyncModel

/// One call to a server, as a device makes it.
public enum ServerCall: Hashable, Sendable {
    case hello
    case push(PushRequest)
    case pull(PullRequest)
    case fetch(FetchRequest)

    /// For a recording: what the call carries.
    var detail: String {
        switch self {
        case .hello: ""
        case .push(let request):
            "\(request.identity), epoch \(request.epoch.map { "\($0)" } ?? "unknown"), outcomes known below "
                + "\(request.acknowledged)\n"
                + request.transactions.map { "\($0.number): \($0.transaction.words)" }.joined(separator: "\n")
        case .pull(let request):
            "from cursor \(request.cursor.map { "\($0)" } ?? "none, for a snapshot"), \(request.limit) rows at most"
        case .fetch(let request): "\(request.collection) \(request.key)"
        }
    }

    /// For the trace.
    var word: String {
        switch self {
        case .hello: "hello"
        case .push(let request): "push of \(request.transactions.count)"
        case .pull(let request): "pull of \(request.space)"
        case .fetch: "fetch"
        }
    }
}

/// The server's answer to a call.
public enum ServerAnswer: Hashable, Sendable {
    case hello(ServerHello)
    case push(PushReply)
    case pull(PullReply)
    case fetch(Record?, of: CollectionName)
    /// The server did not do it.
    case failed(TransportFailure)
}

/// How calls and answers become bytes: the codec under test, so that damage on the way goes through it.
public protocol SimulatedWire: Sendable {
    func encode(_ call: ServerCall) throws -> [UInt8]
    /// Throws when the bytes are no call.
    func decodeCall(_ bytes: [UInt8]) throws -> ServerCall
    func encode(_ answer: ServerAnswer) throws -> [UInt8]
    /// Decodes the bytes as an answer to `call`. Throws what a client's transport would throw.
    func decodeAnswer(_ bytes: [UInt8], to call: ServerCall) throws(TransportFailure) -> ServerAnswer
}

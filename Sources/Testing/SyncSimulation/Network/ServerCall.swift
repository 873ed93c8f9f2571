public import SyncCore
public import SyncModel

/// A call of a device to a server.
public enum ServerCall: Hashable, Sendable {
    case hello
    case push(PushRequest)
    case pull(PullRequest)
    case fetch(FetchRequest)

    /// The contents of the call, for a recording.
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

    /// The name of the call, for the trace.
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
    /// The server did not perform the call.
    case failed(TransportFailure)
}

/// The encoding of calls and answers.
///
/// It is the codec under test, so that damaged messages pass through it.
public protocol SimulatedWire: Sendable {
    func encode(_ call: ServerCall) throws -> [UInt8]
    /// Decodes a call. Throws when the bytes are not a valid call.
    func decodeCall(_ bytes: [UInt8]) throws -> ServerCall
    func encode(_ answer: ServerAnswer) throws -> [UInt8]
    /// Decodes the answer to `call`. Throws the failure that a client's transport would throw.
    func decodeAnswer(_ bytes: [UInt8], to call: ServerCall) throws(TransportFailure) -> ServerAnswer
}

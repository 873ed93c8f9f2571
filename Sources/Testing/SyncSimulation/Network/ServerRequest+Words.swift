import SyncCore
import SyncModel

extension ServerRequest {
    /// The contents of the request, for a recording.
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

    /// The name of the request, for the trace.
    var word: String {
        switch self {
        case .hello: "hello"
        case .push(let request): "push of \(request.transactions.count)"
        case .pull(let request): "pull of \(request.space)"
        case .fetch: "fetch"
        }
    }
}

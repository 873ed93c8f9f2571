import SyncCore
import SyncModel

extension ServerAction {
    var recordedText: String {
        switch self {
        case .send(let serial, .hello): "hello \(serial)"
        case .send(let serial, .push(let request)):
            "push \(serial) \(request.runs) as incarnation \(request.identity.incarnation) of \(request.account?.rawValue ?? "no account") in \(request.epoch?.rawValue ?? "no epoch"), acknowledged \(request.acknowledged)\(request.shownCursors)"
        case .send(let serial, .pull(let request)):
            "pull \(serial) of \(request.space) for \(request.account?.rawValue ?? "no account") from \(request.cursor?.rawValue ?? "the beginning")\(request.shownReceipt), \(request.limit) rows"
        case .send(let serial, .hints(let spaces)):
            "open hints \(serial) of \(spaces.map(\.rawValue).joined(separator: " "))"
        case .closeHints(let serial): "close hints \(serial)"
        case .abandon(let serial): "abandon \(serial)"
        }
    }
}

extension PushRequest {
    fileprivate var runs: String {
        TransactionRun.runs(of: transactions).map(\.description).joined(separator: " ")
    }

    fileprivate var shownCursors: String {
        cursors.isEmpty ? "" : ", showing \(cursors.map(\.rawValue).joined(separator: " "))"
    }
}

extension PullRequest {
    fileprivate var shownReceipt: String { receipt.map { " with the receipt \($0)" } ?? "" }
}

extension Redaction {
    func action(_ action: ServerAction) -> ServerAction {
        switch action {
        case .send(let serial, let request): .send(serial, self.request(request))
        case .closeHints, .abandon: action
        }
    }

    private func request(_ request: EngineRequest) -> EngineRequest {
        switch request {
        case .hello: .hello
        case .push(let push):
            .push(
                PushRequest(
                    identity: identity(push.identity), epoch: push.epoch.map(epoch),
                    account: push.account.map(account), cursors: push.cursors.map { cursor($0) ?? $0 },
                    acknowledged: push.acknowledged, transactions: push.transactions.map(transaction)))
        case .pull(let pull):
            .pull(
                PullRequest(
                    space: space(pull.space), cursor: cursor(pull.cursor), receipt: cursor(pull.receipt),
                    limit: pull.limit, account: pull.account.map(account)))
        case .hints(let names): .hints(names.map(space))
        }
    }
}

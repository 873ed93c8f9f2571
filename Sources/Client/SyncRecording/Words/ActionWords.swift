package import SyncCore
import SyncModel

/// Complete text of a redacted action: two actions have the same text exactly when they are the same.
package enum ActionWords {
    package static func text(_ action: SyncAction) -> String {
        switch action {
        case .sendHello(let serial): "hello \(serial)"
        case .push(let serial, let request):
            "push \(serial) \(runs(request.transactions)) as incarnation \(request.identity.incarnation) of \(request.account?.rawValue ?? "no account") in \(request.epoch?.rawValue ?? "no epoch"), acknowledged \(request.acknowledged)"
        case .pull(let serial, let request):
            "pull \(serial) of \(request.space) for \(request.account?.rawValue ?? "no account") from \(request.cursor?.rawValue ?? "the beginning"), \(request.limit) rows"
        case .openHints(let serial, let spaces):
            "open hints \(serial) of \(spaces.map(\.rawValue).joined(separator: " "))"
        case .closeHints(let serial): "close hints \(serial)"
        case .abandon(let serial): "abandon \(serial)"
        case .countOutbox: "count the outbox"
        case .takeBatch(let limit): "take a batch of \(limit.transactions) transactions, \(limit.bytes) bytes"
        case .record(let results, let identity, let time):
            "record \(results.map(result).joined(separator: " ")) of incarnation \(identity.incarnation) at \(time)"
        case .apply(let page, let cursor, let brake):
            "apply \(content(page.content)) of \(page.space) in \(page.epoch) from \(cursor?.rawValue ?? "the beginning") to \(page.cursor), version \(page.version) of \(page.head)\(page.hasMore ? ", more follows" : ""), at \(page.serverTime), \(words(brake))"
        case .withdraw(let number, let rejection, let identity):
            "withdraw \(number) of incarnation \(identity.incarnation): \(rejection.code)"
        case .resetCursor(let space): "reset the cursor of \(space)"
        case .vacate(let space, let epoch, let brake): "vacate \(space) in \(epoch), \(words(brake))"
        case .adopt(let epoch, let account): "adopt \(epoch) as \(account)"
        case .renewIdentity: "renew the identity"
        case .note(.inSync): "note that all is in sync"
        case .note(.failed(let code, _)): "note a failure: \(code)"
        case .note(.paused(let duration, _)): "note a pause of \(DurationWords.text(duration)) s"
        case .checkpoint: "checkpoint"
        case .arm(let serial, let delay): "arm \(serial) for \(DurationWords.text(delay)) s"
        case .disarm(let serial): "disarm \(serial)"
        case .finish: "finish"
        }
    }

    static func content(_ content: PullPage.Content) -> String {
        switch content {
        case .snapshot(_, let isFirst, let isLast):
            "a\(isFirst ? " first" : "")\(isLast ? " last" : "") page of a snapshot"
        case .commits: "commits"
        }
    }

    private static func result(_ result: TransactionResult) -> String {
        switch result.outcome {
        case .applied(let version, _, _): "\(result.number)=\(version)"
        case .rejected(let rejection): "\(result.number)=\(rejection.code)"
        }
    }

    private static func words(_ brake: DeleteBrake?) -> String {
        brake.map { "brake at \($0.records) records and \($0.percent) percent" } ?? "no brake"
    }

    private static func runs(_ transactions: [NumberedTransaction]) -> String {
        TransactionRun.runs(of: transactions).map(\.description).joined(separator: " ")
    }
}

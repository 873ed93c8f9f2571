import SyncCore
import SyncModel

extension StoreAction {
    var recordedText: String {
        switch self {
        case .countOutbox: "count the outbox"
        case .readSpaces: "read the spaces"
        case .takeBatch(let limit): "take a batch of \(limit.transactions) transactions, \(limit.bytes) bytes"
        case .record(let results, let identity, let time):
            "record \(results.map(\.recordedText).joined(separator: " ")) of incarnation \(identity.incarnation) at \(time)"
        case .apply(let page, let cursor, let brake):
            "apply \(page.content.facts) of \(page.space) in \(page.epoch) from \(cursor?.rawValue ?? "the beginning") to \(page.cursor), version \(page.version) of \(page.head)\(page.hasMore ? ", more follows" : "")\(page.hasMoreNotices ? ", more notices follow" : ""), at \(page.serverTime), \(brake.recordedText)"
        case .withdraw(let number, let rejection, let identity):
            "withdraw \(number) of incarnation \(identity.incarnation): \(rejection.code)"
        case .resetCursor(let space): "reset the cursor of \(space)"
        case .vacate(let space, let epoch, let brake): "vacate \(space) in \(epoch), \(brake.recordedText)"
        case .adopt(let epoch, let account): "adopt \(epoch) as \(account)"
        case .renewIdentity: "renew the identity"
        }
    }
}

extension TransactionResult {
    fileprivate var recordedText: String {
        let outcome =
            switch outcome {
            case .applied(let version, _, _): "\(version)"
            case .rejected(let rejection): "\(rejection.code)"
            }
        let proof = receipt.map { " (receipt of \($0.space) \($0.version) \($0.cursor))" } ?? ""
        return "\(number)=\(outcome)\(proof)"
    }
}

extension DeleteBrake? {
    fileprivate var recordedText: String {
        map { "brake at \($0.records) records and \($0.percent) percent" } ?? "no brake"
    }
}

extension Redaction {
    func action(_ action: StoreAction) -> StoreAction {
        switch action {
        case .countOutbox, .readSpaces, .renewIdentity: action
        case .takeBatch(let limit): .takeBatch(BatchLimit(transactions: limit.transactions, bytes: limit.bytes))
        case .record(let results, let sender, let time):
            .record(results.map(result), of: identity(sender), serverTime: time)
        case .apply(let response, let asked, let brake): .apply(page(response), after: cursor(asked), brake: brake)
        case .withdraw(let number, let rejection, let sender):
            .withdraw(number, Self.rejection(rejection.code.rawValue), of: identity(sender))
        case .resetCursor(let name): .resetCursor(space(name))
        case .vacate(let name, let history, let brake): .vacate(space(name), of: epoch(history), brake: brake)
        case .adopt(let history, let owner): .adopt(epoch(history), account(owner))
        }
    }
}

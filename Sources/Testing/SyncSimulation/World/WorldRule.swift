import SyncAuthority
import SyncModel

/// The application's rule of worlds whose server has one: about one text of thirteen is not accepted.
///
/// Whether the rule rejects a transaction follows from its contents alone, so that the oracles can check each verdict.
enum WorldRule {
    /// The code of the rule's rejections.
    static let code = RejectionCode(rawValue: "unlucky_text")

    /// Returns the rejection of a transaction; nil if the rule accepts it.
    static func rejection(of transaction: Transaction) -> Rejection? {
        for (position, mutation) in transaction.mutations.enumerated() {
            let fields = mutation.patch.filter { isUnlucky($0.value) }.map(\.field)
            guard let field = fields.first else { continue }
            return Rejection(
                code: code, message: "the text of \(field) is not accepted", mutation: position, fields: fields)
        }
        return nil
    }

    private static func isUnlucky(_ value: FieldValue) -> Bool {
        guard case .text(let text) = value else { return false }
        var hash = StableHash()
        hash.combine(text)
        return hash.value % 13 == 0
    }
}

extension AuthorityService {
    /// Performs a push whose transactions the world's rule judges first.
    ///
    /// As on a real server, each round plans transactions, judges their effects, and commits them with the verdicts.
    /// The response has the results of all rounds.
    func push(
        judging request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        var decided: [TransactionResult] = []
        var answered: PushResponse?
        var rest = request.transactions[...]
        while true {
            let plan = try plan(request.part(rest, by: principal, verdicts: nil), now: now)
            var verdicts: [TransactionNumber: RuleVerdict] = [:]
            for planned in plan.transactions {
                // A decision stays, so that a create that has taken effect is not judged again.
                let isRepeat = planned.effects.allSatisfy(\.isRepeat)
                verdicts[planned.number] = RuleVerdict(
                    on: planned, rejection: isRepeat ? nil : WorldRule.rejection(of: planned.transaction))
            }
            let part = request.part(rest.prefix(plan.count), by: principal, verdicts: verdicts)
            guard let response = try pushTogether([part], now: now).first?.get() else {
                throw AuthorityError(.unavailable, "the push was not performed")
            }
            // The device sends a part again that was refused, such as one whose numbers another copy of it has used.
            guard case .answered(let results, let epoch, let time) = response else { return answered ?? response }
            decided = decided.withoutReceipts(repeatedBy: results) + results
            rest = rest.dropFirst(results.count)
            let whole = PushResponse.answered(decided, epoch: epoch, serverTime: time)
            if rest.isEmpty || results.isEmpty { return whole }
            answered = whole
        }
    }
}

extension PushRequest {
    fileprivate func part(
        _ transactions: ArraySlice<NumberedTransaction>, by principal: Principal,
        verdicts: [TransactionNumber: RuleVerdict]?
    ) -> PendingPush {
        PendingPush(
            request: PushRequest(
                identity: identity, epoch: epoch, account: account, cursors: cursors, acknowledged: acknowledged,
                transactions: Array(transactions)),
            principal: principal, verdicts: verdicts, start: self.transactions.first?.number)
    }
}

extension [TransactionResult] {
    /// Returns the results without the receipts of spaces for which later results have newer ones.
    fileprivate func withoutReceipts(repeatedBy later: [TransactionResult]) -> [TransactionResult] {
        let spaces = Set(later.compactMap { $0.receipt?.space })
        return map { result in
            guard let receipt = result.receipt, spaces.contains(receipt.space) else { return result }
            return TransactionResult(number: result.number, outcome: result.outcome)
        }
    }
}

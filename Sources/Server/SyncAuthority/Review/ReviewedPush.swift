package import SyncModel

/// A push to a server whose application has rules: it is planned, judged, and committed in rounds.
///
/// A round takes the transactions that can be planned over the stored records. The authority compares the effects again
/// when it commits, so a transaction is committed only with the effects that the rules have judged. One response has
/// the results of all rounds.
package struct ReviewedPush: Sendable {
    private let principal: Principal
    private let received: WallTime
    private let uptime: @Sendable () -> Duration
    private let plan: @Sendable (PendingPush) async throws -> PushPlan
    private let judge: @Sendable (PlannedTransaction) async throws -> Rejection?
    private let commit: @Sendable (PendingPush) async throws -> PushResponse

    /// Creates a push without performing it.
    ///
    /// - Parameters:
    ///   - received: the time at which the server received the push.
    ///   - uptime: a time that never goes back, which limits the time of all rounds.
    ///   - plan: calls `AuthorityService.plan`.
    ///   - judge: returns the rejection by the application's rules; nil if they accept the transaction.
    ///   - commit: calls `AuthorityService.pushTogether`.
    package init(
        principal: Principal, received: WallTime, uptime: @escaping @Sendable () -> Duration,
        plan: @escaping @Sendable (PendingPush) async throws -> PushPlan,
        judge: @escaping @Sendable (PlannedTransaction) async throws -> Rejection?,
        commit: @escaping @Sendable (PendingPush) async throws -> PushResponse
    ) {
        self.principal = principal
        self.received = received
        self.uptime = uptime
        self.plan = plan
        self.judge = judge
        self.commit = commit
    }

    /// Returns the response to a push. It may have results only for the first transactions, and the client sends the
    /// others again.
    ///
    /// - Throws: an error of a round before which no transaction has been decided. `unavailable` if others change the
    ///   records of the first transaction all the time.
    package func response(to request: PushRequest) async throws -> PushResponse {
        let end = uptime() + AuthorityLimits.reviewTime
        var verdicts: [TransactionNumber: RuleVerdict] = [:]
        var rest = request.transactions[...]
        var answered: AcceptedPush?
        var vainReviews = 0
        // A round whose plan was not carried out whole is followed by a shorter one, so that plans in vain cost little.
        var longest = rest.count
        repeat {
            let response: PushResponse
            let planned: Int
            var mayContinue: Bool
            do {
                let plan = try await plan(part(of: request, rest.prefix(longest), nil))
                planned = plan.count
                let count: Int
                (count, mayContinue) = try await judge(plan, from: rest.first?.number, until: end, &verdicts)
                response = try await commit(part(of: request, rest.prefix(count), verdicts))
            } catch {
                guard let answered else { throw error }
                return answered.response
            }
            guard case .answered(let results, let epoch, let serverTime) = response else {
                return answered?.response ?? response
            }
            let decided = AcceptedPush(results: results, heads: [:], epoch: epoch, serverTime: serverTime)
            vainReviews = results.isEmpty ? vainReviews + 1 : 0
            if !results.isEmpty || rest.isEmpty { answered = answered?.followed(by: decided) ?? decided }
            longest = 2 * max(1, results.count < planned ? results.count : min(longest, rest.count))
            for result in results { verdicts[result.number] = nil }
            rest = rest.dropFirst(results.count)
            // A response that grows too long ends early.
            let isLong = answered.map { $0.conflictBytes > AuthorityLimits.pageBytes } ?? false
            mayContinue = mayContinue && !isLong && vainReviews < AuthorityLimits.vainReviews && uptime() < end
            guard mayContinue else { break }
        } while !rest.isEmpty
        if let answered { return answered.response }
        throw AuthorityError(
            .unavailable, "others change the records of the push while the application's rules judge it",
            retryAfter: AuthorityLimits.busyRetry)
    }

    private func part(
        of request: PushRequest, _ transactions: ArraySlice<NumberedTransaction>,
        _ verdicts: [TransactionNumber: RuleVerdict]?
    ) -> PendingPush {
        PendingPush(
            request: PushRequest(
                identity: request.identity, epoch: request.epoch, account: request.account, cursors: request.cursors,
                acknowledged: request.acknowledged, transactions: Array(transactions)),
            principal: principal, verdicts: verdicts, start: request.transactions.first?.number, received: received)
    }

    /// Judges planned transactions, in order, except those with the same effects as before.
    ///
    /// - Returns: the number of transactions from `first` on that can be committed, and whether another round may
    ///   follow.
    private func judge(
        _ plan: PushPlan, from first: TransactionNumber?, until end: Duration,
        _ verdicts: inout [TransactionNumber: RuleVerdict]
    ) async throws -> (count: Int, mayContinue: Bool) {
        var hasJudged = false
        for planned in plan.transactions where verdicts[planned.number]?.planned.effects != planned.effects {
            let position = Int(planned.number.rawValue - (first ?? planned.number).rawValue)
            if hasJudged, uptime() >= end { return (position, false) }
            do {
                verdicts[planned.number] = RuleVerdict(on: planned, rejection: try await judge(planned))
            } catch {
                // The transactions before it need not wait for this one.
                guard position > 0 else { throw error }
                return (position, false)
            }
            hasJudged = true
        }
        return (plan.count, true)
    }
}

extension AcceptedPush {
    /// Returns the results of both. The last transaction of each space has a receipt, as in the response to one push.
    fileprivate func followed(by next: AcceptedPush) -> AcceptedPush {
        let spaces = Set(next.results.compactMap { $0.receipt?.space })
        let results = results.map { result in
            guard let receipt = result.receipt, spaces.contains(receipt.space) else { return result }
            return TransactionResult(number: result.number, outcome: result.outcome)
        }
        return AcceptedPush(
            results: results + next.results, heads: [:], epoch: next.epoch, serverTime: next.serverTime)
    }
}

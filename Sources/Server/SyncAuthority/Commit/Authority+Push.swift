import SyncConcurrency
public import SyncModel

extension Authority {
    /// Applies transactions in order, each exactly once (I2).
    ///
    /// Transactions are made durable in groups (`transactionsPerWrite`). One database transaction holds the effects,
    /// outcomes, uids, and ledger of a whole group. When the store fails after the first group, the response contains
    /// the outcomes so far.
    ///
    /// After the client has acknowledged an outcome, the server may forget the outcome. It then refuses the number with
    /// an identity conflict. A correct client sends such a number again only if its database was rolled back. The
    /// client then takes a new identity, and names the former numbers of its transactions, by which the server
    /// recognizes repeats. It recognizes creates by their ids and times, too. A client discards the response to a late
    /// duplicate.
    public func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        try push(request, by: principal, now: now, rejecting: [:])
    }

    /// Applies transactions in order, and rejects those whose numbers are in `rejections` and that have no outcome yet.
    public func push(
        _ request: PushRequest, by principal: Principal, now: WallTime,
        rejecting rejections: [TransactionNumber: Rejection]
    ) throws(AuthorityError) -> PushResponse {
        try principal.check(isMeantBy: request.account)
        try check(request)
        var answered: AcceptedPush?
        var rest = request.transactions[...]
        var taken = 0
        repeat {
            let group = PushGroup(
                transactions: rest.prefix(policy.transactionsPerWrite), request: request, principal: principal,
                now: now, catalog: catalog, models: models, members: members, policy: policy, rejections: rejections)
            rest = rest.dropFirst(policy.transactionsPerWrite)
            taken += group.transactions.count
            do throws(AuthorityError) {
                switch try write({ transaction in try group.apply(in: transaction) }) {
                case .refused(let refusal): return answered?.response ?? .refused(refusal)
                case .lost(let lost):
                    let epoch = try renewHistory(because: lost)
                    return answered?.response ?? .refused(.epochChanged(epoch))
                case .answered(let response):
                    if !response.heads.isEmpty { commits.publish(SpaceHeads(heads: response.heads)) }
                    answered = AcceptedPush(
                        results: (answered?.results ?? []) + response.results, heads: response.heads,
                        epoch: response.epoch,
                        serverTime: response.serverTime)
                }
            } catch {
                guard let answered else { throw error }
                return answered.response
            }
            if let answered, answered.results.count < taken || answered.conflictBytes > policy.pageBytes { break }
        } while !rest.isEmpty
        guard let answered else { throw AuthorityError(.malformed, "the push was not processed") }
        return answered.response
    }

    /// Checks everything that can be checked without the store.
    private func check(_ request: PushRequest) throws(AuthorityError) {
        let limits = policy.limits
        guard request.cursors.count <= SchemaLimits.shownCursors else {
            throw AuthorityError(
                .malformed,
                "the push shows \(request.cursors.count) cursors; expected at most \(SchemaLimits.shownCursors)")
        }
        guard request.transactions.count <= limits.pushTransactions else {
            throw AuthorityError(
                .tooLarge,
                "\(request.transactions.count) transactions in one push, at most \(limits.pushTransactions) allowed")
        }
        // A single transaction that is too large is rejected later, so that it does not block all the others (I17).
        let bytes = request.transactions.reduce(0) { $0 + $1.transaction.byteCount }
        guard request.transactions.count <= 1 || bytes <= limits.pushBytes else {
            throw AuthorityError(.tooLarge, "\(bytes) bytes in one push, at most \(limits.pushBytes) allowed")
        }
        guard request.identity.incarnation >= 0 else {
            throw AuthorityError(.malformed, "incarnation \(request.identity.incarnation); expected 0 or more")
        }
        var expected = request.transactions.first?.number ?? request.acknowledged
        guard request.acknowledged >= .first else {
            throw AuthorityError(
                .malformed,
                "the push acknowledges outcomes below \(request.acknowledged); expected \(TransactionNumber.first) or more"
            )
        }
        guard request.acknowledged <= expected else {
            throw AuthorityError(
                .malformed,
                "the push acknowledges outcomes below \(request.acknowledged), so it must begin with transaction \(request.acknowledged) or later; found \(expected)"
            )
        }
        for transaction in request.transactions {
            // The number after this one must exist, so the greatest number is not allowed.
            guard transaction.number == expected, expected.rawValue < .max else {
                throw AuthorityError(
                    .malformed, "expected transaction \(expected), found \(transaction.number)")
            }
            expected = expected.next
        }
    }
}

/// The results of one or more groups of transactions.
struct AcceptedPush {
    var results: [TransactionResult]
    /// The newest versions of the spaces that have new commits.
    var heads: [SpaceID: Version]
    var epoch: Epoch
    var serverTime: HybridTime

    var response: PushResponse { .answered(results, epoch: epoch, serverTime: serverTime) }
    /// The total size of the values in the conflicts, in bytes.
    var conflictBytes: Int { results.reduce(0) { $0 + $1.outcome.conflictBytes } }
}

extension Outcome {
    /// The total size of the values in the conflicts, in bytes.
    var conflictBytes: Int {
        switch self {
        case .applied(_, _, let conflicts): conflicts.reduce(0) { $0 + $1.byteCount }
        case .rejected: 0
        }
    }
}

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
        try perform(PendingPush(request: request, principal: principal), now: now)
    }

    private func perform(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushResponse {
        try check(push)
        var answered: AcceptedPush?
        var rest = push.request.transactions[...]
        var taken = 0
        repeat {
            let group = group(rest.prefix(policy.transactionsPerWrite), of: push, now: now)
            rest = rest.dropFirst(policy.transactionsPerWrite)
            taken += group.transactions.count
            do throws(AuthorityError) {
                switch try apply([group])[0] {
                case .refused(let refusal): return answered?.response ?? .refused(refusal)
                case .tooManyClients: throw tooManyClients(of: push.principal)
                case .lost(let lost):
                    let epoch = try renewHistory(because: lost, shownBy: push.request.cursors)
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

    /// Performs the first of several waiting pushes, and as many after it as fit into the same database transaction.
    ///
    /// If the store fails for every request, all of them fail. If one of them may be the cause, the first half is
    /// performed without the others, so that in the end only those that cause the failure fail. If the commit took
    /// effect nevertheless, each push finds its outcomes in the ledger.
    public func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>] {
        let groups = groupsForOneWrite(of: pushes, now: now)
        guard groups.count > 1 else {
            return pushes.prefix(1).map { push in
                Result { () throws(AuthorityError) in try perform(push, now: now) }
            }
        }
        let verdicts: [PushGroup.Verdict]
        do throws(AuthorityError) {
            verdicts = try apply(groups)
        } catch {
            // The next push would fail in the same way, perhaps after the same wait for a lock.
            if error.concernsAllRequests { return groups.map { _ in .failure(error) } }
            return pushTogether(Array(pushes.prefix(groups.count / 2)), now: now)
        }
        var heads = SpaceHeads(heads: [:])
        for case .answered(let push) in verdicts { heads.absorb(SpaceHeads(heads: push.heads)) }
        if !heads.heads.isEmpty { commits.publish(heads) }
        return zip(verdicts, pushes).map { verdict, push in
            Result { () throws(AuthorityError) in
                switch verdict {
                case .refused(let refusal): .refused(refusal)
                case .tooManyClients: throw tooManyClients(of: push.principal)
                case .lost(let lost):
                    .refused(.epochChanged(try renewHistory(because: lost, shownBy: push.request.cursors)))
                case .answered(let push): push.response
                }
            }
        }
    }

    /// Applies groups, one after the other, in one database transaction: at least the first, and no more after one that
    /// has proved a lost history, because the others belong to the next one, or after many bytes of conflicts.
    private func apply(_ groups: [PushGroup]) throws(AuthorityError) -> [PushGroup.Verdict] {
        let (verdicts, added) = try write { transaction -> ([PushGroup.Verdict], [Principal: StoredUsage]) in
            var before = try transaction.state()
            try models.storeMissing(at: &before, in: transaction)
            var state = before
            var verdicts: [PushGroup.Verdict] = []
            var added: [Principal: StoredUsage] = [:]
            var conflictBytes = 0
            applying: for group in groups where conflictBytes <= policy.pageBytes {
                let verdict = try group.apply(in: transaction, at: &state, adding: &added)
                verdicts.append(verdict)
                switch verdict {
                case .lost: break applying
                case .refused, .tooManyClients: break
                case .answered(let push): conflictBytes += push.conflictBytes
                }
            }
            if state != before { try transaction.set(state) }
            return (verdicts, added)
        }
        // A transaction that was rolled back has added nothing.
        for (principal, addition) in added { usage.add(addition, of: principal) }
        return verdicts
    }

    /// Returns the groups of the first pushes, each complete, that together have at most as many transactions and bytes
    /// as one push may make durable at once.
    private func groupsForOneWrite(of pushes: [PendingPush], now: WallTime) -> [PushGroup] {
        var groups: [PushGroup] = []
        var (count, bytes) = (0, 0)
        for push in pushes {
            count += push.request.transactions.count
            bytes += push.byteCount
            let fits = count <= policy.transactionsPerWrite && bytes <= policy.limits.pushBytes
            guard fits, (try? check(push)) != nil else { break }
            groups.append(group(push.request.transactions[...], of: push, now: now))
        }
        return groups
    }

    func group(
        _ transactions: ArraySlice<NumberedTransaction>, of push: PendingPush, now: WallTime
    ) -> PushGroup {
        PushGroup(
            transactions: transactions, request: push.request, principal: push.principal, now: now, catalog: catalog,
            models: models, members: members, policy: policy, usage: usage, verdicts: push.verdicts,
            pushStart: push.start, waited: .milliseconds(max(0, now.milliseconds - (push.received ?? now).milliseconds))
        )
    }

    private func tooManyClients(of principal: Principal) -> AuthorityError {
        AuthorityError(
            .quotaExceeded,
            "the account \(principal.name) writes with as many devices already as it may on this server (\(policy.accounts.clients))",
            retryAfter: AuthorityLimits.clientsRetry)
    }

    /// Checks everything that can be checked without the store.
    func check(_ push: PendingPush) throws(AuthorityError) {
        let request = push.request
        let limits = policy.limits
        try push.principal.check(isMeantBy: request.account)
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
        let bytes = push.byteCount
        guard request.transactions.count <= 1 || bytes <= limits.pushBytes else {
            throw AuthorityError(.tooLarge, "\(bytes) bytes in one push, at most \(limits.pushBytes) allowed")
        }
        guard request.identity.incarnation >= 0, request.identity.incarnation < FieldOrigin.disowned else {
            throw AuthorityError(
                .malformed,
                "incarnation \(request.identity.incarnation); expected 0 or more, below \(FieldOrigin.disowned)")
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

extension PendingPush {
    /// The total size of the values in the transactions, in bytes.
    fileprivate var byteCount: Int { request.transactions.reduce(0) { $0 + $1.transaction.byteCount } }
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

import SyncModel

/// Transactions of one push that are applied in one database transaction.
struct PushGroup {
    /// Consecutive transactions, in the order of their numbers.
    let transactions: ArraySlice<NumberedTransaction>
    let request: PushRequest
    let principal: Principal
    let now: WallTime
    /// The models that this server serves.
    let catalog: SchemaCatalog
    let models: StoredModels
    let members: StoredMembers
    let policy: AuthorityPolicy
    let usage: AccountUsage
    /// The verdicts of the application's rules, by transaction number; nil for an application without rules.
    let verdicts: [TransactionNumber: RuleVerdict]?
    /// The number of the first transaction of the client's push. The client may not have received outcomes from this
    /// number on.
    let pushStart: TransactionNumber?
    /// The time that the push waited on this server, which is added to the age of its edits.
    let waited: Duration

    enum Verdict {
        case answered(AcceptedPush)
        /// The push was refused. Nothing was written.
        case refused(PushRefusal)
        /// The account may not push with one more client. Nothing was written.
        case tooManyClients
        /// The client has proved that the store was restored from an older copy. Nothing was written.
        case lost(LostHistory)
    }

    var key: LedgerKey { LedgerKey(principal: principal, identity: request.identity) }

    /// Applies the group within a database transaction.
    ///
    /// - Parameters:
    ///   - shared: the server's state, which all groups of a database transaction share. It changes only if the group
    ///     is answered, and so does `added`.
    ///   - added: the amounts by which the groups of the database transaction have added to the storage of accounts.
    func apply(
        in transaction: some AuthorityTransaction, at shared: inout AuthorityState,
        adding added: inout [Principal: StoredUsage]
    ) throws(AuthorityStoreError) -> Verdict {
        let before = usage.stored(by: principal)
        var state = shared
        _ = state.clock.correct(now: now, permitting: policy.permittedSkew)
        let owner = try transaction.owner(of: request.identity.client)
        if let refusal = try refusal(at: state, of: owner, in: transaction) { return refusal }
        let known = try transaction.ledger(of: key)
        let repeats: [TransactionResult]
        switch try replay(from: known, in: transaction) {
        case .refused(let refusal): return .refused(refusal)
        case .outcomes(let results): repeats = results
        }

        let stored = try models.catalog(at: state, in: transaction)
        let rights = try members.rights(at: state, in: transaction)
        guard try countClient(of: owner, onlyRepeats: repeats.count == transactions.count, in: transaction) else {
            return .tooManyClients
        }
        if known == .empty, owner != nil {
            try transaction.forgetOutcomes(
                ofFormerIncarnationsOf: key, keeping: AuthorityLimits.keptIncarnations)
        }
        var progress = Progress(
            state: state, account: before, ledger: known,
            response: AcceptedPush(results: repeats, heads: [:], epoch: state.epoch, serverTime: .zero))
        progress.account.add(added[principal] ?? StoredUsage())
        try decide(transactions.dropFirst(repeats.count), stored, rights, in: transaction, &progress)
        try acknowledge(known, in: transaction, &progress)
        try addReceipts(to: &progress.response.results, state.history, rights, in: transaction)
        progress.response.serverTime = progress.state.clock.tick(now: now)
        shared = progress.state
        if policy.accounts != .unlimited {
            progress.account.subtract(before)
            added[principal] = progress.account
        }
        return .answered(progress.response)
    }

    /// The changes of a group so far.
    private struct Progress {
        var state: AuthorityState
        var account: StoredUsage
        var ledger: Ledger
        var response: AcceptedPush
        /// The bytes of the conflicts in the response.
        var conflictBytes: Int

        init(state: AuthorityState, account: StoredUsage, ledger: Ledger, response: AcceptedPush) {
            (self.state, self.account, self.ledger, self.response) = (state, account, ledger, response)
            conflictBytes = response.conflictBytes
        }
    }

    /// Returns why the server does not look at the transactions; nil if it does.
    private func refusal(
        at state: AuthorityState, of owner: ClientOwner?, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Verdict? {
        if let epoch = request.epoch, epoch != state.epoch { return .refused(.epochChanged(state.epoch)) }
        let check = HistoryCheck(history: state.history, witness: .client(principal))
        if let lost = try check.firstLoss(shownBy: request.cursors, in: view) { return .lost(lost) }
        // A client id belongs to the principal that first used it, so that nobody can write as another principal's
        // device (I21).
        guard let owner, owner.principal != principal, let first = transactions.first else { return nil }
        return .refused(.identityConflict(number: first.number))
    }

    /// Counts the pushing client among the devices of its account. Returns false, and writes nothing, if there are too
    /// many.
    ///
    /// A push that only repeats transactions is not checked against the device limit, even if another client has
    /// replaced this one.
    private func countClient(
        of owner: ClientOwner?, onlyRepeats: Bool, in transaction: some AuthorityTransaction
    ) throws(AuthorityStoreError) -> Bool {
        if let owner, owner.replacement == nil || onlyRepeats { return true }
        let replaced = try replacedClients(in: transaction)
        let limit = policy.accounts.clients
        if limit < .max, try transaction.deviceCount(of: principal) - replaced.count >= limit { return false }
        if owner == nil {
            try transaction.bind(request.identity.client, to: principal)
        } else {
            // The client of another copy of the database has replaced this client, but this one still pushes.
            try transaction.mark(request.identity.client, replacedBy: nil)
        }
        for client in replaced.sorted() { try transaction.mark(client, replacedBy: request.identity.client) }
        return true
    }

    /// Returns the former clients of the pushing device that still count.
    ///
    /// A backup may be restored twice. The second restored device then names a client that was already replaced, and
    /// the latest replacement of that client is replaced instead. If the latest replacement belongs to another active
    /// copy, its next push makes it count again.
    private func replacedClients(in view: some AuthorityView) throws(AuthorityStoreError) -> Set<ClientID> {
        var known: Set<ClientID> = [request.identity.client]
        var clients: Set<ClientID> = []
        for former in transactions.lazy.flatMap(\.formerNumbers) {
            var next: ClientID? = former.identity.client
            while let client = next, known.insert(client).inserted {
                guard let owner = try view.owner(of: client), owner.principal == principal else { break }
                if owner.replacement == nil { clients.insert(client) }
                next = owner.replacement
            }
        }
        return clients
    }

    /// Adds a receipt to the last transaction of the group that took effect in each space.
    private func addReceipts(
        to results: inout [TransactionResult], _ history: HistoryIdentity, _ rights: SpaceRights,
        in view: some AuthorityView
    ) throws(AuthorityStoreError) {
        var seen: Set<SpaceID> = []
        for (index, numbered) in zip(results.indices, transactions).reversed() {
            let space = numbered.transaction.space
            guard case .applied(let version, _, _) = results[index].outcome, version > .zero,
                rights.mayRead(space, principal), seen.insert(space).inserted,
                // A repeated outcome may be older than the oldest commit in the change feed.
                let fingerprint = try view.fingerprint(at: version, in: space)
            else { continue }
            let cursor = FeedCursor(
                epoch: history.epoch, space: space,
                position: .receipt(version, request.identity, results[index].number), fingerprint: fingerprint)
            results[index] = TransactionResult(
                number: results[index].number, outcome: results[index].outcome,
                receipt: CommitReceipt(space: space, version: version, cursor: cursor.authenticated(with: history.key)))
        }
    }

    // MARK: Repeated transactions

    private enum ReplayResult {
        case outcomes([TransactionResult])
        case refused(PushRefusal)
    }

    /// Returns the stored outcomes of the transactions at the start of the group that the ledger already has. Writes
    /// nothing.
    private func replay(
        from ledger: Ledger, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> ReplayResult {
        var results: [TransactionResult] = []
        var bytes = 0
        for numbered in transactions {
            let number = numbered.number
            if number == ledger.next || bytes > policy.pageBytes { break }
            if number > ledger.next { return .refused(.gap(expected: ledger.next)) }
            guard let stored = try view.outcome(of: key, number), stored.hash == numbered.hash else {
                return .refused(.identityConflict(number: number))
            }
            results.append(TransactionResult(number: number, outcome: stored.outcome))
            bytes += stored.outcome.conflictBytes
        }
        return .outcomes(results)
    }

    /// Returns the outcome of a transaction that an earlier identity of the same device has sent; nil if it had not
    /// arrived.
    ///
    /// The lookup uses the principal of this push, so that no principal can read another's outcomes.
    func formerOutcome(
        of numbered: NumberedTransaction, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Outcome? {
        for former in numbered.formerNumbers {
            let key = LedgerKey(principal: principal, identity: former.identity)
            if let stored = try view.outcome(of: key, former.number), stored.hash == former.hash {
                return stored.outcome
            }
        }
        return nil
    }

    // MARK: New transactions

    /// Decides about new transactions, in the order of their numbers, and carries out the decisions.
    private func decide(
        _ transactions: ArraySlice<NumberedTransaction>, _ stored: SchemaCatalog, _ rights: SpaceRights,
        in transaction: some AuthorityTransaction, _ progress: inout Progress
    ) throws(AuthorityStoreError) {
        for numbered in transactions {
            // A response that grows too long ends early, and the client sends the remaining transactions again.
            guard numbered.number == progress.ledger.next, progress.conflictBytes <= policy.pageBytes else { return }
            let effect: CommitPlan.Effect
            if let outcome = try formerOutcome(of: numbered, in: transaction) {
                effect = CommitPlan.Effect(outcome: outcome, newVersion: nil)
            } else {
                // The caller asks the rules again for a transaction whose effects they have not judged.
                guard let decision = try decide(numbered, stored, rights, over: transaction, progress.account) else {
                    return
                }
                observe(numbered, with: &progress.state.clock)
                effect = try carryOut(decision, of: numbered, stored, in: transaction, adding: &progress.account)
            }
            try transaction.keep(
                StoredOutcome(hash: numbered.hash, outcome: effect.outcome), of: key, numbered.number)
            progress.ledger.next = numbered.number.next
            progress.response.results.append(TransactionResult(number: numbered.number, outcome: effect.outcome))
            progress.conflictBytes += effect.outcome.conflictBytes
            if let version = effect.newVersion { progress.response.heads[numbered.transaction.space] = version }
        }
    }

    /// Notes the outcomes that the client has received, and forgets those that it no longer needs.
    ///
    /// - Parameter known: The ledger before the push.
    private func acknowledge(
        _ known: Ledger, in transaction: some AuthorityTransaction, _ progress: inout Progress
    ) throws(AuthorityStoreError) {
        // A client cannot have seen outcomes that the server has not sent.
        progress.ledger.acknowledged = max(
            progress.ledger.acknowledged, min(request.acknowledged, progress.ledger.next))
        let ledger = progress.ledger
        if ledger.outcomeHorizon > known.outcomeHorizon {
            try transaction.forgetOutcomes(of: key, below: TransactionNumber(ledger.outcomeHorizon), keeping: 0)
        }
        if progress.conflictBytes > 0, let first = pushStart ?? request.transactions.first?.number {
            // A client that pushes has received all outcomes of the transactions before this push, even if it has not
            // acknowledged them.
            try transaction.forgetOutcomes(of: key, below: first, keeping: AuthorityLimits.keptOutcomeBytes)
        }
        if ledger != known { try transaction.set(ledger, of: key) }
    }

    private func carryOut(
        _ decision: CommitPlanner.Decision, of numbered: NumberedTransaction, _ stored: SchemaCatalog,
        in transaction: some AuthorityTransaction, adding account: inout StoredUsage
    ) throws(AuthorityStoreError) -> CommitPlan.Effect {
        switch decision {
        case .reject(let rejection):
            return CommitPlan.Effect(outcome: .rejected(rejection), newVersion: nil)
        case .commit(let plan):
            let author = CommitAuthor(
                principal: principal, identity: request.identity, number: numbered.number, committedAt: now)
            let effect = try plan.carryOut(in: transaction, by: author, catalog: stored)
            if policy.accounts != .unlimited { account.add(plan.growth) }
            return effect
        }
    }

    /// Returns the decision about a transaction; nil if the application has rules that have not judged these effects of
    /// it.
    private func decide(
        _ numbered: NumberedTransaction, _ stored: SchemaCatalog, _ rights: SpaceRights,
        over records: some RecordLookup, _ account: StoredUsage
    ) throws(AuthorityStoreError) -> CommitPlanner.Decision? {
        let decision = try plan(numbered, stored, rights, over: records, notingEffects: verdicts != nil)
        guard case .commit(let plan) = decision else { return decision }
        if let verdicts {
            guard let verdict = verdicts[numbered.number], verdict.planned.effects == plan.effects else { return nil }
            if let rejection = verdict.rejection { return .reject(rejection) }
        }
        let bytes = plan.conflicts.reduce(0) { $0 + $1.byteCount }
        guard bytes <= AuthorityLimits.conflictBytes else {
            return .reject(
                Rejection(
                    code: .tooLarge,
                    message:
                        "its conflicts have \(bytes) bytes of values, at most \(AuthorityLimits.conflictBytes) allowed in one transaction",
                    mutation: nil))
        }
        return rejection(of: plan, beside: account).map { .reject($0) } ?? decision
    }

    /// Returns the decision about a transaction by the access rules, the models, and the merge.
    func plan(
        _ numbered: NumberedTransaction, _ stored: SchemaCatalog, _ rights: SpaceRights,
        over records: some RecordLookup, notingEffects: Bool
    ) throws(AuthorityStoreError) -> CommitPlanner.Decision {
        let transaction = numbered.transaction
        guard rights.mayWrite(transaction.space, principal) else {
            return .reject(
                Rejection(
                    code: .forbidden, message: "\(principal.name) may not write in space \(transaction.space)",
                    mutation: nil))
        }
        guard transaction.byteCount <= policy.limits.pushBytes else {
            return .reject(
                Rejection(
                    code: .tooLarge,
                    message:
                        "\(transaction.byteCount) bytes in one transaction, at most \(policy.limits.pushBytes) allowed",
                    mutation: nil))
        }
        let planner = CommitPlanner(
            catalog: catalog, stored: stored,
            author: TransactionAuthor(
                principal: principal, identity: request.identity,
                formerClients: numbered.formerNumbers.map(\.identity.client)),
            stamps: stampPolicy(of: numbered))
        return try planner.decide(transaction, over: records, notingEffects: notingEffects)
    }

    /// Returns the rejection of a plan that would exceed what its account may store; nil if there is room for it.
    private func rejection(of plan: CommitPlan, beside account: StoredUsage) -> Rejection? {
        let limit = policy.accounts.bytes
        guard limit < .max else { return nil }
        let growth = plan.growth.bytes
        guard growth > 0, account.bytes + growth > limit else { return nil }
        return Rejection(
            code: .quotaExceeded,
            message:
                "the account \(principal.name) stores \(account.bytes) bytes, and \(growth) more would exceed its limit of \(limit)",
            mutation: nil)
    }

    private func stampPolicy(of numbered: NumberedTransaction) -> StampPolicy {
        StampPolicy(now: now, age: numbered.age.map { $0 + waited }, permittedSkew: policy.permittedSkew)
    }

    /// Advances the server's clock to at least the time stamps of the edits.
    ///
    /// A time that a device claims counts only if it is plausible (`StampPolicy`). Otherwise, a device with a wrong
    /// clock would advance the server's clock, and thereby the clocks of all devices. Their edits would win over later
    /// edits of devices that have not synced since.
    private func observe(_ numbered: NumberedTransaction, with clock: inout HybridClock) {
        let times = stampPolicy(of: numbered)
        for mutation in numbered.transaction.mutations {
            clock.observe(times.time(claimed: mutation.time), now: now, permitting: policy.permittedSkew)
        }
    }
}

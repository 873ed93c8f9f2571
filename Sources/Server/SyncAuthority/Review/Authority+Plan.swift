public import SyncModel

extension Authority {
    public func plan(_ push: PendingPush, now: WallTime) throws(AuthorityError) -> PushPlan {
        try check(push)
        return try read { view in
            try group(push.request.transactions[...], of: push, now: now).plan(in: view)
        }
    }
}

extension PushGroup {
    /// Returns the effects of the first transactions, as `apply` would determine them now. Writes nothing.
    ///
    /// All transactions are planned over the stored records. So the plan ends before a transaction that changes the
    /// record of an earlier one, and before one that is rejected only because an earlier one has not been carried out.
    func plan(in view: some AuthorityView) throws(AuthorityStoreError) -> PushPlan {
        let state = try view.state()
        let ledger = try view.ledger(of: key)
        // Nothing needs to be judged if `apply` will refuse the push.
        let owner = try view.owner(of: request.identity.client)
        guard request.epoch ?? state.epoch == state.epoch, owner?.principal ?? principal == principal,
            let first = transactions.first, first.number <= ledger.next
        else { return PushPlan(count: transactions.count, transactions: []) }

        let stored = try models.catalog(at: state, in: view)
        let rights = try members.rights(at: state, in: view)
        var changed: Set<RecordAddress> = []
        var planned: [PlannedTransaction] = []
        var count = 0
        var values = 0
        planning: for numbered in transactions where values < AuthorityLimits.plannedValues {
            if try hasOutcome(numbered, ledger, in: view) {
                count += 1
                continue
            }
            let addresses = Set(numbered.transaction.mutations.map(\.address))
            guard changed.isDisjoint(with: addresses) else { break }
            changed.formUnion(addresses)
            switch try plan(numbered, stored, rights, over: view, notingEffects: true) {
            case .commit(let plan):
                values += plan.effects.reduce(0) { $0 + $1.valueCount }
                planned.append(
                    PlannedTransaction(
                        number: numbered.number, transaction: numbered.transaction, effects: plan.effects))
            case .reject(let rejection):
                if rejection.dependsOnOtherRecords, !planned.isEmpty { break planning }
            }
            count += 1
        }
        return PushPlan(count: count, transactions: planned)
    }

    /// Whether `apply` returns a stored outcome of a transaction.
    private func hasOutcome(
        _ numbered: NumberedTransaction, _ ledger: Ledger, in view: some AuthorityView
    ) throws(AuthorityStoreError) -> Bool {
        if numbered.number < ledger.next { return true }
        return try formerOutcome(of: numbered, in: view) != nil
    }
}

extension MutationEffect {
    fileprivate var valueCount: Int { (before?.values.count ?? 0) + (after?.values.count ?? 0) }
}

extension Rejection {
    /// Whether a change of another record, which the transaction does not touch, may be the remedy.
    fileprivate var dependsOnOtherRecords: Bool { code == .danglingReference || code == .stillReferenced }
}

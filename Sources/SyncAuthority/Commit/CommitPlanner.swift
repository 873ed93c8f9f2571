package import SyncModel

/// Decides what a transaction does: pure but for the records that it looks up.
package struct CommitPlanner: Sendable {
    let catalog: SchemaCatalog
    /// Who made the transaction.
    let client: ClientID
    /// Stamps after this are clamped to it: the server's time and the permitted skew.
    let latestStamp: WallTime

    package init(catalog: SchemaCatalog, client: ClientID, latestStamp: WallTime) {
        self.catalog = catalog
        self.client = client
        self.latestStamp = latestStamp
    }

    package enum Decision: Hashable, Sendable {
        case commit(CommitPlan)
        case reject(Rejection)
    }

    package func decide(
        _ transaction: Transaction, over records: some RecordLookup
    ) throws(AuthorityStoreFailure) -> Decision {
        if let rejection = catalog.rejection(of: transaction) { return .reject(rejection) }
        var draft = CommitDraft(space: transaction.space, planner: self, lookup: records)
        do throws(PlanningStop) {
            for (index, mutation) in transaction.mutations.enumerated() {
                try draft.apply(mutation, at: index)
            }
            try draft.checkReferences()
            try draft.checkReferrers()
        } catch {
            switch error {
            case .rejected(let rejection): return .reject(rejection)
            case .failed(let failure): throw failure
            }
        }
        return .commit(draft.plan)
    }
}

/// Why planning ends early.
enum PlanningStop: Error {
    case rejected(Rejection)
    case failed(AuthorityStoreFailure)
}

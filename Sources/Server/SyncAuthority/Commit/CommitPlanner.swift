package import SyncModel

/// Decides what a transaction does: pure but for the records that it looks up.
package struct CommitPlanner: Sendable {
    let catalog: SchemaCatalog
    let author: TransactionAuthor
    let clock: StampClock

    package init(catalog: SchemaCatalog, author: TransactionAuthor, clock: StampClock) {
        self.catalog = catalog
        self.author = author
        self.clock = clock
    }

    package enum Decision: Hashable, Sendable {
        case commit(CommitPlan)
        case reject(Rejection)
    }

    package func decide(
        _ transaction: Transaction, over records: some RecordLookup
    ) throws(AuthorityStoreFailure) -> Decision {
        if let rejection = catalog.rejection(of: transaction) { return .reject(rejection) }
        var draft = CommitDraft(
            space: transaction.space, planner: self, lookup: records, head: try records.head(of: transaction.space))
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

/// The principal and client that push a transaction.
package struct TransactionAuthor: Hashable, Sendable {
    package let principal: Principal
    package let identity: ClientIdentity
    /// Earlier client ids under which the same device has sent the transaction: a create of theirs is its own.
    package let formerClients: [ClientID]

    package init(principal: Principal, identity: ClientIdentity, formerClients: [ClientID] = []) {
        self.principal = principal
        self.identity = identity
        self.formerClients = formerClients
    }
}

/// When the edits of a transaction can have been made, by the server's clock.
package struct StampClock: Hashable, Sendable {
    /// The server's wall clock.
    let now: WallTime
    /// How long ago the transaction was written; nil when its device does not say.
    let age: Duration?
    /// How far a device's clock may be off before its times are replaced.
    let permittedSkew: Duration

    package init(now: WallTime, age: Duration?, permittedSkew: Duration) {
        self.now = now
        self.age = age
        self.permittedSkew = permittedSkew
    }

    /// The time by which an edit is compared with others.
    ///
    /// A device's own reading stands while it agrees with the age of the transaction: hybrid readings keep the order of
    /// cause and effect. One that is further off than the permitted skew comes from a wrong clock, and the server's time
    /// minus the age takes its place.
    package func time(claimed: HybridTime) -> HybridTime {
        guard let age else { return claimed.clamped(notAfter: now.advanced(by: permittedSkew)) }
        let written = now.advanced(by: .zero - age)
        let isPlausible =
            written.advanced(by: .zero - permittedSkew) <= claimed.wall
            && claimed.wall <= written.advanced(by: permittedSkew)
        return isPlausible ? claimed : HybridTime(wall: written, counter: claimed.counter)
    }
}

/// Why planning ends early.
enum PlanningStop: Error {
    case rejected(Rejection)
    case failed(AuthorityStoreFailure)
}

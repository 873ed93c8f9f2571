package import SyncModel

/// Decides the effect of a transaction, without side effects.
package struct CommitPlanner: Sendable {
    let catalog: SchemaCatalog
    /// The models of all stored records, including those that this server does not serve.
    let stored: SchemaCatalog
    let author: TransactionAuthor
    let stamps: StampPolicy

    /// - Parameter stored: the models of all stored records; nil if these are the models that the server serves.
    package init(
        catalog: SchemaCatalog, stored: SchemaCatalog? = nil, author: TransactionAuthor, stamps: StampPolicy
    ) {
        self.catalog = catalog
        self.stored = stored ?? catalog
        self.author = author
        self.stamps = stamps
    }

    package enum Decision: Hashable, Sendable {
        case commit(CommitPlan)
        case reject(Rejection)
    }

    /// Decides the effect of a transaction.
    ///
    /// - Parameter notingEffects: whether the plan contains the effect of each mutation, for the application's rules.
    package func decide(
        _ transaction: Transaction, over records: some RecordLookup, notingEffects: Bool = false
    ) throws(AuthorityStoreError) -> Decision {
        if let rejection = catalog.rejection(of: transaction) { return .reject(rejection) }
        var draft = CommitDraft(
            space: transaction.space, planner: self, lookup: records, head: try records.head(of: transaction.space),
            notingEffects: notingEffects)
        do throws(PlanningStop) {
            for (index, mutation) in transaction.mutations.enumerated() {
                try draft.apply(mutation, at: index)
            }
            try draft.checkLengths()
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

/// The principal and the client that push a transaction.
package struct TransactionAuthor: Hashable, Sendable {
    package let principal: Principal
    package let identity: ClientIdentity
    /// Former client ids under which the same device has sent the transaction. A create by one of them is the device's
    /// own.
    package let formerClients: [ClientID]

    package init(principal: Principal, identity: ClientIdentity, formerClients: [ClientID] = []) {
        self.principal = principal
        self.identity = identity
        self.formerClients = formerClients
    }
}

/// Determines the times of a transaction's edits by the server's clock.
package struct StampPolicy: Hashable, Sendable {
    /// The time of the server's wall clock.
    let now: WallTime
    /// The age of the transaction; nil when its device does not report it.
    let age: Duration?
    /// The error of a device's clock up to which its times are accepted.
    let permittedSkew: Duration

    package init(now: WallTime, age: Duration?, permittedSkew: Duration) {
        self.now = now
        self.age = age
        self.permittedSkew = permittedSkew
    }

    /// Returns the time by which an edit is compared with others.
    ///
    /// The device's own reading is used while it agrees with the age of the transaction, because hybrid readings
    /// preserve the order of cause and effect. A reading that is off by more than the permitted skew comes from a wrong
    /// clock; the server's time minus the age replaces it.
    package func time(claimed: HybridTime) -> HybridTime {
        guard let age else { return claimed.clamped(notAfter: now.advanced(by: permittedSkew)) }
        let written = now.advanced(by: .zero - age)
        let isPlausible =
            written.advanced(by: .zero - permittedSkew) <= claimed.wall
            && claimed.wall <= written.advanced(by: permittedSkew)
        return isPlausible ? claimed : HybridTime(wall: written, counter: claimed.counter)
    }
}

/// The reason why planning stops early.
enum PlanningStop: Error {
    case rejected(Rejection)
    case failed(AuthorityStoreError)
}

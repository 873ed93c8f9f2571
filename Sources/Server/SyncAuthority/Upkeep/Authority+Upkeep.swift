public import SyncModel

/// Maintenance tasks for the operator of a server.
extension Authority {
    /// Removes the commits before `version` from the change feed of a space.
    ///
    /// Clients whose cursors need a removed commit start again with a snapshot. Records and tombstones stay. If the
    /// commits are already gone, nothing happens.
    public func trimFeed(of space: SpaceID, before version: Version) throws(AuthorityError) {
        try write { transaction in
            let extent = try transaction.extent(of: space)
            let last = min(Version(version.rawValue &- 1), extent.head)
            guard version > .zero, last > extent.horizon else { return }
            try transaction.trim(space, through: last)
        }
    }

    /// Removes the oldest commits from the change feed of a space until it meets the bound.
    ///
    /// - Parameters:
    ///   - bound: how much to keep.
    ///   - slice: maximum number of commits to remove in this call. Other writers wait while they are removed.
    /// - Returns: whether commits were removed.
    @discardableResult
    public func trimFeed(
        of space: SpaceID, to bound: FeedBound = FeedBound(), slice: Int = .max
    ) throws(AuthorityError) -> Bool {
        try write { transaction in
            guard let last = try transaction.surplus(of: space, over: bound, limit: max(slice, 1)) else { return false }
            try transaction.trim(space, through: last)
            return true
        }
    }

    /// Trims one of the change feeds that exceed the bound, by at most one slice.
    ///
    /// - Returns: whether commits were removed. If so, call again.
    public func trimFeeds(
        to bound: FeedBound = FeedBound(), slice: Int = AuthorityLimits.trimSlice
    ) throws(AuthorityError) -> Bool {
        // Usually there is nothing to do, so this check takes no write lock.
        let long = try read { view in try view.spaces(exceeding: bound) }
        guard let space = long.first else { return false }
        return try trimFeed(of: space, to: bound, slice: slice)
    }

    /// Removes conflicts, at most one slice, if there are more than `kept`. `AuthorityTransaction.trimConflicts`
    /// selects them.
    ///
    /// A device that has not fetched a removed conflict learns that notices are missing, but not which.
    ///
    /// - Returns: whether there were too many. If so, call again.
    public func trimConflicts(
        keeping kept: ConflictAmount = ConflictAmount(), slice: Int = AuthorityLimits.conflictTrimSlice
    ) throws(AuthorityError) -> Bool {
        guard try read({ view in try view.conflictAmount() }).exceeds(kept) else { return false }
        return try write { transaction in
            try transaction.trimConflicts(keeping: kept, limit: max(slice, 1))
        } > 0
    }

    /// Measures what each account stores, for the limits of accounts. Does nothing without such limits.
    ///
    /// Until the first measurement, only what this server has taken itself counts.
    public func measureUsage() throws(AuthorityError) {
        guard policy.accounts != .unlimited else { return }
        try usage.measure { () throws(AuthorityError) in try read { view in try view.usage() } }
    }

    /// Returns the conflicts of a space after `number`, oldest first, with their winners, losers, and authors.
    public func conflicts(
        in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityError) -> [RecordedConflict] {
        try read { view in
            try view.conflicts(in: space, after: number, limit: limit)
        }
    }

    /// Returns the conflicts of a space after `number`, oldest first, within a budget.
    package func conflicts(
        in space: SpaceID, after number: Int64, budget: PageBudget
    ) throws(AuthorityError) -> [RecordedConflict] {
        try read { view in
            try view.conflicts(in: space, after: number, budget: budget)
        }
    }

    /// Returns the outcome of a transaction from the ledger; nil when the server has never processed the transaction,
    /// or has forgotten its outcome after the client acknowledged it.
    package func outcome(
        of number: TransactionNumber, from identity: ClientIdentity, of principal: Principal
    ) throws(AuthorityError) -> StoredOutcome? {
        try read { view in
            try view.outcome(of: LedgerKey(principal: principal, identity: identity), number)
        }
    }

    /// Returns the epoch of the current history.
    public func epoch() throws(AuthorityError) -> Epoch {
        try read { view in try view.state().epoch }
    }

    /// Stops counting a client as a device of its account, until it pushes again.
    ///
    /// - Returns: the account of the client; nil if no client with this id has pushed.
    public func release(_ client: ClientID) throws(AuthorityError) -> Principal? {
        try write { transaction in
            guard let owner = try transaction.owner(of: client) else { return nil }
            if owner.replacement == nil { try transaction.mark(client, replacedBy: client) }
            return owner.principal
        }
    }

    /// Starts a new history after the database was restored from a backup.
    ///
    /// Every client notices at its next contact, sends again the transactions that were not confirmed, and lets its
    /// user restore the edits that this server has lost (I15). The authority also does this by itself when a client
    /// or the mark beside the database proves the restore.
    ///
    /// - Parameter history: the new history; nil to generate one.
    /// - Returns: the new epoch.
    @discardableResult
    public func startNewEpoch(_ history: HistoryIdentity? = nil) throws(AuthorityError) -> Epoch {
        let next = history ?? histories.nextHistory()
        try write { transaction in
            var state = try transaction.state()
            try state.begin(next)
            try transaction.set(state)
        }
        return next.epoch
    }
}

public import SyncModel

/// The operator's tasks on a server's history.
extension Authority {
    /// Takes the commits before `version` out of the feed of a space: cursors that need one of them start again with
    /// a snapshot. Records and tombstones stay. Nothing happens when they are gone already.
    public func trim(_ space: SpaceID, before version: Version) throws(AuthorityFailure) {
        try write { (transaction) throws(AuthorityStoreFailure) in
            let extent = try transaction.extent(of: space)
            let last = min(Version(version.rawValue &- 1), extent.head)
            guard version > .zero, last > extent.horizon else { return }
            try transaction.trim(space, through: last)
        }
    }

    /// Keeps the newest commits of a space, this many.
    ///
    /// - Parameter slice: at most so many go at once: others wait that long for the write lock.
    public func compact(
        _ space: SpaceID, keeping commits: Int = AuthorityLimits.keptCommits, slice: Int = .max
    ) throws(AuthorityFailure) {
        try write { (transaction) throws(AuthorityStoreFailure) in
            let extent = try transaction.extent(of: space)
            let surplus = extent.head.rawValue - extent.horizon.rawValue - Int64(max(commits, 0))
            guard surplus > 0 else { return }
            try transaction.trim(space, through: Version(extent.horizon.rawValue + min(surplus, Int64(max(slice, 1)))))
        }
    }

    /// Compacts one of the feeds that hold more than `commits`, by one slice.
    ///
    /// - Returns: whether a feed was too long; ask again then.
    public func shortenFeeds(
        to commits: Int = AuthorityLimits.keptCommits, slice: Int = AuthorityLimits.trimmedCommits
    ) throws(AuthorityFailure) -> Bool {
        let kept = max(commits, 0)
        // Most of the time nothing is to be done, and nobody has to wait for that.
        let long = try read { (view) throws(AuthorityStoreFailure) in try view.spaces(havingMoreCommitsThan: kept) }
        guard let space = long.first else { return false }
        try compact(space, keeping: kept, slice: slice)
        return true
    }

    /// Removes the oldest conflicts when there are more than `count`, by one slice.
    ///
    /// - Returns: whether there were too many; ask again then.
    public func shortenConflicts(
        to count: Int = AuthorityLimits.keptConflicts, slice: Int = AuthorityLimits.trimmedCommits
    ) throws(AuthorityFailure) -> Bool {
        let kept = max(count, 0)
        guard try read({ (view) throws(AuthorityStoreFailure) in try view.conflictCount() }) > kept else {
            return false
        }
        return try write { (transaction) throws(AuthorityStoreFailure) in
            try transaction.trimConflicts(keeping: kept, limit: max(slice, 1))
        } > 0
    }

    /// The conflicts of a space after `number`, oldest first: which value gave way to which, and who wrote them.
    public func conflicts(
        in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityFailure) -> [RecordedConflict] {
        try read { (view) throws(AuthorityStoreFailure) in
            try view.conflicts(in: space, after: number, limit: limit)
        }
    }

    /// Returns the outcome of a transaction from the ledger; nil when it never took effect, or when its client has
    /// acknowledged the answer.
    package func outcome(
        of number: TransactionNumber, from identity: ClientIdentity, of principal: Principal
    ) throws(AuthorityFailure) -> StoredOutcome? {
        try read { (view) throws(AuthorityStoreFailure) in
            try view.outcome(of: LedgerKey(principal: principal, identity: identity), number)
        }
    }

    /// The name of the history.
    public func epoch() throws(AuthorityFailure) -> Epoch {
        try read { (view) throws(AuthorityStoreFailure) in try view.state().epoch }
    }

    /// Starts a new history, after the database was restored from a backup: every client notices at its next contact,
    /// sends again what was not confirmed, and offers its user what this server has lost (I15).
    ///
    /// The authority does this by itself as soon as a client or the mark beside the database proves the restore.
    ///
    /// - Parameter history: the new one; nil for one that the authority draws.
    /// - Returns: the name of the new history.
    @discardableResult
    public func startNewEpoch(_ history: HistoryIdentity? = nil) throws(AuthorityFailure) -> Epoch {
        let next = history ?? histories.nextHistory()
        try write { (transaction) throws(AuthorityStoreFailure) in
            var state = try transaction.state()
            try state.begin(next)
            try transaction.set(state)
        }
        return next.epoch
    }
}

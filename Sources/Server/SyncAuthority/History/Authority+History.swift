package import SyncModel

extension Authority {
    /// Begins a new history if the store still has the history that `lost` names.
    ///
    /// One loss therefore begins one history, however many clients prove it at the same time. The proof is examined
    /// again in the database that takes the writes: the read that found it may have come from one that is behind, such
    /// as a former primary of a cluster.
    ///
    /// - Parameter cursors: the cursors that prove the loss.
    /// - Returns: the epoch that the store has afterwards.
    /// - Throws: `AuthorityError`; it says to try again if the store has what the cursors name.
    @discardableResult
    package func renewHistory(
        because lost: LostHistory, shownBy cursors: [Cursor]
    ) throws(AuthorityError) -> Epoch {
        let next = histories.nextHistory()
        let (epoch, isNew) = try write { transaction -> (Epoch, Bool) in
            var state = try transaction.state()
            guard state.history.epoch == lost.epoch else { return (state.history.epoch, false) }
            let check = HistoryCheck(history: state.history, witness: lost.witness)
            guard try check.firstLoss(shownBy: cursors, in: transaction) != nil else {
                throw AuthorityStoreError(
                    .busy, "this server has read from a database that is behind the one that takes the writes")
            }
            try state.begin(next)
            try transaction.set(state)
            return (next.epoch, true)
        }
        if isNew { histories.historyWasLost(lost, next: next.epoch) }
        return epoch
    }
}

extension AuthorityState {
    /// Replaces the history.
    ///
    /// - Throws: `unstorable` when the name equals that of the current history, because clients would not notice the
    ///   change, or when it is not well formed.
    mutating func begin(_ next: HistoryIdentity) throws(AuthorityStoreError) {
        guard Epoch.isWellFormed(next.epoch.rawValue) else {
            throw AuthorityStoreError(
                .unstorable, "'\(next.epoch)' is not a valid epoch; expected 1 to 64 letters, digits, - and _")
        }
        guard next.epoch != history.epoch else {
            throw AuthorityStoreError(
                .unstorable, "a new history needs a new name; found '\(next.epoch)', the name of the current one")
        }
        history = next
    }
}

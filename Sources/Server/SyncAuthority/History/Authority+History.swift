package import SyncModel

extension Authority {
    /// Begins a new history if the store still follows the one that `lost` speaks of, so that one loss begins one history
    /// however many clients prove it at the same time.
    ///
    /// - Returns: the history that the store follows afterwards.
    @discardableResult
    package func renewHistory(because lost: LostHistory) throws(AuthorityFailure) -> Epoch {
        let next = histories.nextHistory()
        let (epoch, isNew) = try write { (transaction) throws(AuthorityStoreFailure) -> (Epoch, Bool) in
            var state = try transaction.state()
            guard state.history.epoch == lost.epoch else { return (state.history.epoch, false) }
            try state.begin(next)
            try transaction.set(state)
            return (next.epoch, true)
        }
        if isNew { histories.historyWasLost(lost, next: next.epoch) }
        return epoch
    }
}

extension AuthorityState {
    /// - Throws: when the name is in use: clients would not notice that the history is another one.
    mutating func begin(_ next: HistoryIdentity) throws(AuthorityStoreFailure) {
        guard next.epoch != history.epoch, Epoch.isWellFormed(next.epoch.rawValue) else {
            throw AuthorityStoreFailure(
                .unstorable, "a new history needs a name of its own, and was given '\(next.epoch)'")
        }
        history = next
    }
}

import SyncConcurrency

extension LocalStore {
    /// Waits until the transaction is confirmed, rejected or cancelled.
    ///
    /// That can take as long as the device is offline: cancel the task to stop waiting. The transaction goes on.
    /// - Throws: `StoreFailure`, also when the store is closed meanwhile; or `CancellationError` when the task is cancelled.
    public func settledFate(of sequence: OutboxSequence) async throws -> TransactionFate {
        // Subscribed before the first look, so that no change falls between the two.
        var changes = changes.subscribe().makeAsyncIterator()
        while true {
            let fate = try fate(of: sequence)
            switch fate {
            case .confirmed, .rejected, .cancelled, .forgotten: return fate
            case .pending: break
            }
            let isLast = await changes.next() == nil
            try Task.checkCancellation()
            // Without news to come, the store itself says why.
            if isLast, case .pending = try self.fate(of: sequence) {
                throw StoreFailure(.inputOutput, "the store tells no more news, and transaction \(sequence) is pending")
            }
        }
    }
}

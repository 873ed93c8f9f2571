import SyncConcurrency

extension LocalStore {
    /// Waits until the transaction is confirmed, rejected or cancelled.
    ///
    /// That can take as long as the device is offline: cancel the task to stop waiting. The transaction goes on.
    /// - Throws: `StoreFailure`, or `CancellationError` when the task is cancelled.
    public func settledFate(of sequence: OutboxSequence) async throws -> TransactionFate {
        // Subscribed before the first look, so that no change falls between the two.
        var changes = changes.subscribe().makeAsyncIterator()
        while true {
            let fate = try fate(of: sequence)
            switch fate {
            case .confirmed, .rejected, .cancelled: return fate
            case .pending: break
            }
            guard await changes.next() != nil else { throw CancellationError() }
            try Task.checkCancellation()
        }
    }
}

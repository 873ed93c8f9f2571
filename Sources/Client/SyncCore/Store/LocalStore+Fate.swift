import SyncConcurrency

extension LocalStore {
    /// Waits until the transaction is confirmed, rejected, or cancelled, and returns its fate.
    ///
    /// That can take as long as the device is offline. Cancel the task to stop waiting; the transaction is not
    /// affected.
    ///
    /// - Throws: `StoreError`, for example when the store is closed meanwhile, or `CancellationError` when the task
    ///   is cancelled.
    public func settledFate(of sequence: OutboxSequence) async throws -> TransactionFate {
        // Subscribe before the first read, so that no change is missed in between.
        var changes = changes.subscribe().makeAsyncIterator()
        while true {
            let fate = try fate(of: sequence)
            switch fate {
            case .confirmed, .rejected, .cancelled, .unknown: return fate
            case .pending: break
            }
            // Other changes settle no fate. Many callers may wait while the device is offline. If each of them read its
            // fate after each write, the work would grow with the square of their number.
            var change = await changes.next()
            while let next = change, !next.removesFromOutbox, !Task.isCancelled { change = await changes.next() }
            let isLast = change == nil
            try Task.checkCancellation()
            // No more changes will come, because the store is closed. Reading it again throws the reason.
            if isLast, case .pending = try self.fate(of: sequence) {
                throw StoreError(.inputOutput, "the store was closed while transaction \(sequence) was pending")
            }
        }
    }
}

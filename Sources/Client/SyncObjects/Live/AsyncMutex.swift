import SyncConcurrency

/// A mutex for async bodies, which run one at a time, in order of arrival. Without contention, it costs almost nothing.
///
/// A caller that is cancelled while it waits still gets its turn, and its body sees the cancellation.
final class AsyncMutex: Sendable {
    private struct State: Sendable {
        var isTaken = false
        var queue: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    /// Calls `body` while no other body runs.
    func withLock<Result: Sendable, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await lock()
        defer { unlock() }
        return try await body()
    }

    private func lock() async {
        if take(orQueue: nil) { return }
        await withCheckedContinuation { continuation in
            if take(orQueue: continuation) { continuation.resume() }
        }
    }

    private func take(orQueue continuation: CheckedContinuation<Void, Never>?) -> Bool {
        state.withLock { state in
            if !state.isTaken {
                state.isTaken = true
                return true
            }
            if let continuation { state.queue.append(continuation) }
            return false
        }
    }

    /// Passes the lock to the next waiter without releasing it in between.
    private func unlock() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            if state.queue.isEmpty {
                state.isTaken = false
                return nil
            }
            return state.queue.removeFirst()
        }
        next?.resume()
    }
}

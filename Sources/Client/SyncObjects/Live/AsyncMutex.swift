import SyncConcurrency

/// A mutex for async bodies, which run one at a time. Without contention, it costs almost nothing.
///
/// The lock is passed to the next waiter in order of arrival. A waiter that runs on an actor is an exception: its actor
/// may be busy for long, or wait for another write, and all others would have to wait for it. It is woken while others
/// take the lock, and gets the lock in turn only after it has come too late some times.
///
/// A caller that is cancelled while it waits still gets its turn, and its body sees the cancellation.
final class AsyncMutex: Sendable {
    private struct State: Sendable {
        var isTaken = false
        var queue: [Waiter] = []
    }

    private struct Waiter: Sendable {
        let isOnActor: Bool
        /// The number of times that the waiter was woken and found the lock taken.
        let failures: Int
        /// Resumed with whether the waiter has the lock.
        let continuation: CheckedContinuation<Bool, Never>
    }

    private static let permittedFailures = 3

    /// Whether a body runs, or a waiter has been given the lock.
    var isTaken: Bool { state.withLock { $0.isTaken } }

    var waiterCount: Int { state.withLock { $0.queue.count } }

    private let state = Guarded(State())

    /// Calls `body` while no other body runs.
    func withLock<Result: Sendable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await lock(isolation: isolation)
        defer { unlock() }
        return try await body()
    }

    /// Calls `body` if no other body runs; otherwise returns nil.
    func withLockIfFree<Result: Sendable, Failure: Error>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result? {
        guard take() else { return nil }
        defer { unlock() }
        return try await body()
    }

    private func lock(isolation: isolated (any Actor)?) async {
        var failures = 0
        while !take() {
            let failed = failures
            let hasLock = await withCheckedContinuation { continuation in
                let waiter = Waiter(isOnActor: isolation != nil, failures: failed, continuation: continuation)
                if take(orQueue: waiter) { continuation.resume(returning: true) }
            }
            if hasLock { return }
            failures += 1
        }
    }

    private func take(orQueue waiter: Waiter? = nil) -> Bool {
        state.withLock { state in
            if !state.isTaken {
                state.isTaken = true
                return true
            }
            if let waiter { state.queue.insert(waiter, at: waiter.failures == 0 ? state.queue.count : 0) }
            return false
        }
    }

    private func unlock() {
        let (next, woken) = state.withLock { state -> (Waiter?, [Waiter]) in
            let next = state.queue.firstIndex { !$0.isOnActor || $0.failures >= Self.permittedFailures }
            let woken = Array(state.queue[..<(next ?? state.queue.endIndex)])
            let owner = next.map { state.queue[$0] }
            state.queue.removeFirst(woken.count + (owner == nil ? 0 : 1))
            state.isTaken = owner != nil
            return (owner, woken)
        }
        for waiter in woken { waiter.continuation.resume(returning: false) }
        next?.continuation.resume(returning: true)
    }
}

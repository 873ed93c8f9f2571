import SyncAuthority
import SyncConcurrency
import SyncModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The pushes that wait to be made durable.
///
/// While one thread makes pushes durable, others add theirs, and the thread then takes all of them at once. The busier
/// the server, the more pushes share the cost of a commit, and no push waits for others to arrive.
final class PushQueue: Sendable {
    typealias Completion = @Sendable (Result<PushResponse, AuthorityError>) -> Void

    private struct State {
        var waiting: [(push: PendingPush, completion: Completion)] = []
        /// Whether a thread is performing pushes. It takes all that are added meanwhile.
        var isWorking = false
    }

    private let authority: any AuthorityService
    private let now: @Sendable () -> WallTime
    private let state = Guarded(State())

    init(authority: any AuthorityService, now: @escaping @Sendable () -> WallTime) {
        self.authority = authority
        self.now = now
    }

    /// Adds a push. If no thread is performing pushes, this one does until none waits.
    ///
    /// - Parameter completion: called once with the result, on any thread, after the push is durable or has failed.
    func add(_ push: PendingPush, completion: @escaping Completion) {
        let mustWork = state.withLock { state in
            state.waiting.append((push, completion))
            defer { state.isWorking = true }
            return !state.isWorking
        }
        guard mustWork else { return }
        while true {
            // On a busy machine, threads that are about to add a push run first. On an idle one, this does nothing.
            sched_yield()
            guard let waiting = next() else { return }
            var results = authority.pushTogether(waiting.map(\.push), now: now())[...]
            if results.isEmpty {
                results = [.failure(AuthorityError(.unavailable, "the server has not performed the push"))]
            }
            let performed = zip(waiting, results.prefix(waiting.count))
            state.withLock { $0.waiting.removeFirst(min(results.count, waiting.count)) }
            for ((_, completion), result) in performed { completion(result) }
        }
    }

    /// Returns the pushes that have waited longest; nil when none waits, and this thread need not work anymore.
    private func next() -> ArraySlice<(push: PendingPush, completion: Completion)>? {
        state.withLock { state in
            if state.waiting.isEmpty { state.isWorking = false }
            return state.waiting.isEmpty ? nil : state.waiting.prefix(SyncServerLimits.pushesTogether)
        }
    }
}

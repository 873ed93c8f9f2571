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
            let results = Self.results(of: waiting.map(\.push), with: authority, now: now())
            state.withLock { $0.waiting.removeFirst(results.count) }
            for ((_, completion), result) in zip(waiting, results) { completion(result) }
        }
    }

    /// Performs a push alone, on this thread.
    static func perform(
        _ push: PendingPush, with authority: any AuthorityService, now: WallTime, completion: Completion
    ) {
        for result in results(of: [push], with: authority, now: now) { completion(result) }
    }

    /// Returns the results of the first pushes: at least one, and at most one for each, even if an application's
    /// authority returns none or too many.
    private static func results(
        of pushes: [PendingPush], with authority: any AuthorityService, now: WallTime
    ) -> ArraySlice<Result<PushResponse, AuthorityError>> {
        let results = authority.pushTogether(pushes, now: now).prefix(pushes.count)
        guard results.isEmpty else { return results }
        return [.failure(AuthorityError(.unavailable, "the server has not performed the push"))]
    }

    /// Returns the pushes that have waited longest; nil when none waits, and this thread need not work anymore.
    private func next() -> ArraySlice<(push: PendingPush, completion: Completion)>? {
        state.withLock { state in
            if state.waiting.isEmpty { state.isWorking = false }
            return state.waiting.isEmpty ? nil : state.waiting.prefix(SyncServerLimits.pushesTogether)
        }
    }
}

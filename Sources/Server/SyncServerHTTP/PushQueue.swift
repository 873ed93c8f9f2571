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
    typealias Answer = @Sendable (Result<PushResponse, AuthorityError>) -> Void

    private struct State {
        var waiting: [(push: PendingPush, answer: Answer)] = []
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
    /// - Parameter answer: called once with the result, on any thread, after the push is durable.
    func add(_ push: PendingPush, answer: @escaping Answer) {
        let mustWork = state.withLock { state in
            state.waiting.append((push, answer))
            defer { state.isWorking = true }
            return !state.isWorking
        }
        guard mustWork else { return }
        while true {
            // On a busy machine, threads that are about to add a push run first. On an idle one, this does nothing.
            sched_yield()
            guard let waiting = next() else { return }
            let results = authority.pushTogether(waiting.map(\.push), now: now())
            state.withLock { $0.waiting.removeFirst(results.count) }
            for ((_, answer), result) in zip(waiting, results) { answer(result) }
        }
    }

    /// Returns the pushes that have waited longest; nil when none waits, and this thread need not work anymore.
    private func next() -> ArraySlice<(push: PendingPush, answer: Answer)>? {
        state.withLock { state in
            if state.waiting.isEmpty { state.isWorking = false }
            return state.waiting.isEmpty ? nil : state.waiting.prefix(SyncServerLimits.pushesTogether)
        }
    }
}

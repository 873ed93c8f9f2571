import CConcurrencyTripwire
import SyncConcurrency

#if canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#endif

/// The choice of the next job among those that are ready.
public enum SchedulingPolicy: String, Hashable, Sendable, CaseIterable {
    /// A random one, chosen by the seed: finds code that depends on an unspecified order.
    case random
    /// The one that became ready first.
    case fifo
}

/// The queue of all jobs of one simulation. One thread runs them, one at a time.
///
/// The queue has a lock although one thread runs it: work that has left the simulation may return from another thread,
/// and is counted as foreign.
public final class SimulationScheduler: Sendable {
    private struct Entry: Sendable {
        let job: UnownedJob
        let place: Place
    }

    /// The executor that runs a job. The executor must live as long as its jobs.
    enum Place: Sendable {
        case task(SimulationTaskExecutor)
        case actor(SimulationSerialExecutor)
    }

    private struct State: Sendable {
        var ready: [Entry] = []
        /// The index of the oldest job in `ready`. The entries before it are done, and are removed in batches to avoid
        /// moving the others.
        var oldest = 0
        var random: SeededRandom
        var owner: pthread_t
        var foreign = 0
        var escaped: UInt64 = 0
        var jobs = 0
    }

    public let policy: SchedulingPolicy
    /// Whether jobs that go to Swift's global pool are counted, which needs a hook of the runtime.
    public let hasTripwire: Bool
    private let state: Guarded<State>

    public init(seed: UInt64, policy: SchedulingPolicy) {
        self.policy = policy
        hasTripwire = tripwire_install()
        state = Guarded(State(random: SeededRandom(seed: seed, stream: "scheduler"), owner: pthread_self()))
    }

    func enqueue(_ job: UnownedJob, on place: Place) {
        let thread = pthread_self()
        state.withLock { state in
            if pthread_equal(thread, state.owner) == 0 { state.foreign += 1 }
            state.ready.append(Entry(job: job, place: place))
        }
    }

    /// Makes the calling thread the simulation's thread.
    func adoptCurrentThread() {
        let thread = pthread_self()
        state.withLock { $0.owner = thread }
    }

    /// Runs one job. Returns false when none is ready.
    func step() -> Bool {
        guard let entry = takeNext() else { return false }
        tripwire_enter()
        switch entry.place {
        case .task(let executor): entry.job.runSynchronously(on: executor.asUnownedTaskExecutor())
        case .actor(let executor):
            // The job needs the executor of tasks, too. Without it, a task that stays on the actor would be enqueued
            // again at each call of an asynchronous function. The optimizer removes some of these calls' hops, so the
            // same seed would give different worlds in debug and release builds.
            entry.job.runSynchronously(
                isolatedTo: executor.asUnownedSerialExecutor(), taskExecutor: executor.tasks.asUnownedTaskExecutor())
        }
        let escaped = tripwire_leave()
        if escaped > 0 { state.withLock { $0.escaped += escaped } }
        return true
    }

    private func takeNext() -> Entry? {
        state.withLock { state in
            guard state.oldest < state.ready.count else {
                state.ready.removeAll(keepingCapacity: true)
                state.oldest = 0
                return nil
            }
            state.jobs += 1
            switch policy {
            case .random:
                let index = state.random.below(state.ready.count)
                state.ready.swapAt(index, state.ready.count - 1)
                return state.ready.removeLast()
            case .fifo:
                let entry = state.ready[state.oldest]
                state.oldest += 1
                if state.oldest >= 1_024 {
                    state.ready.removeFirst(state.oldest)
                    state.oldest = 0
                }
                return entry
            }
        }
    }

    /// The number of jobs that have run.
    public var jobCount: Int { state.withLock { $0.jobs } }

    /// The number of jobs that came from a thread other than the simulation's.
    public var foreignCount: Int { state.withLock { $0.foreign } }

    /// The number of jobs that jobs of the simulation handed to Swift's global pool; 0 without a tripwire.
    public var escapedCount: Int { state.withLock { Int(clamping: $0.escaped) } }
}

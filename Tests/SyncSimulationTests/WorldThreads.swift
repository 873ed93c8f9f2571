import Dispatch
import Foundation
import SyncConcurrency
import TestRings
import Testing

/// Threads for tests that compute for a long time without suspending.
///
/// A world blocks the calling thread until it is at rest. On the threads that all tests share, a series of worlds would
/// delay every other test, and requests to servers in those tests would time out.
final class WorldThreads: TaskExecutor {
    /// The key in a thread's dictionary that marks one of these threads.
    private static let mark = "world"
    static let shared = WorldThreads(count: ProcessInfo.processInfo.activeProcessorCount)

    private let jobs = Guarded<[UnownedJob]>([])
    private let pendingJobs = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count {
            let thread = Thread { [self] in
                Thread.current.threadDictionary[Self.mark] = true
                while true {
                    pendingJobs.wait()
                    jobs.withLock { $0.removeFirst() }.runSynchronously(on: asUnownedTaskExecutor())
                }
            }
            // A world with its stores and codec needs a stack as large as that of a main thread.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    /// Whether the caller runs on one of these threads.
    static var isCurrent: Bool { Thread.current.threadDictionary[mark] != nil }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        pendingJobs.signal()
    }
}

/// Runs the tests of a suite on `WorldThreads`.
struct OnWorldThreads: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // Each test case runs in its own task, so a preference that is set for the suite would have no effect.
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(WorldThreads.shared) {
            try await TestTimes.measure(test, function)
        }
    }
}

extension Trait where Self == OnWorldThreads {
    static var onWorldThreads: OnWorldThreads { OnWorldThreads() }
}

@Suite(.ring(.unit), .onWorldThreads)
struct WorldThreadsTests {
    @Test func `worlds run on their own threads`() {
        #expect(WorldThreads.isCurrent)
    }
}

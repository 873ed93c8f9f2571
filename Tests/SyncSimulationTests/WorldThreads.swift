import Dispatch
import Foundation
import SyncConcurrency
import TestRings
import Testing

/// Threads for tests that compute for long without a pause.
///
/// A world runs on the thread that asks for it until it is at rest. On the threads that all tests share, many worlds in a
/// row would keep every other test waiting, and those that talk to a server would take it for dead.
final class WorldThreads: TaskExecutor {
    /// How such a thread knows itself.
    private static let mark = "world"
    static let shared = WorldThreads(count: ProcessInfo.processInfo.activeProcessorCount)

    private let jobs = Guarded<[UnownedJob]>([])
    private let news = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count {
            let thread = Thread { [self] in
                Thread.current.threadDictionary[Self.mark] = true
                while true {
                    news.wait()
                    jobs.withLock { $0.removeFirst() }.runSynchronously(on: asUnownedTaskExecutor())
                }
            }
            // A world with its stores and codec needs what a main thread has.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    /// Whether the caller runs on one of them.
    static var isCurrent: Bool { Thread.current.threadDictionary[mark] != nil }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        news.signal()
    }
}

/// Runs the tests of a suite on `WorldThreads`.
struct OnWorldThreads: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        // Around the suite as a whole it would be of no use: each case is a task of its own.
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
    @Test func `worlds do not run on the threads of all tests`() {
        #expect(WorldThreads.isCurrent)
    }
}

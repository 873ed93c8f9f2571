import Dispatch
import SyncConcurrency
import TestRings
import Testing

@testable import SyncObjects

/// Tests the lock of all writes of a client.
@Suite(.ring(.unit)) struct AsyncMutexTests {
    private final class PersonThread: SerialExecutor {
        private let queue = DispatchQueue(label: "person")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    /// An actor whose thread can be kept busy.
    private actor Person {
        private let thread = PersonThread()
        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }
        private(set) var turns = 0

        func write(_ mutex: AsyncMutex) async {
            await mutex.withLock { turns += 1 }
        }

        func wait(for signal: DispatchSemaphore) { signal.wait() }
    }

    private static func yield(until isTrue: @Sendable () async -> Bool) async {
        while await !isTrue() { await Task.yield() }
    }

    @Test func `a waiter on a busy actor does not keep the lock from others, and still gets its turn`() async {
        let mutex = AsyncMutex()
        let (person, release) = (Person(), DispatchSemaphore(value: 0))
        let isHeld = Guarded(true)
        let holder = Task {
            await mutex.withLock { await Self.yield { isHeld.withLock { !$0 } } }
        }
        await Self.yield { mutex.isTaken }
        let first = Task { await person.write(mutex) }
        await Self.yield { mutex.waiterCount == 1 }
        let busy = Task { await person.wait(for: release) }
        let other = Task { await mutex.withLock {} }
        await Self.yield { mutex.waiterCount == 2 }
        isHeld.withLock { $0 = false }
        await holder.value
        // The person's thread waits until the other has had the lock.
        await other.value
        release.signal()
        await busy.value
        await first.value
        #expect(await person.turns == 1)
        #expect(!mutex.isTaken && mutex.waiterCount == 0)
    }

    @Test func `many tasks and actors take the lock one at a time`() async {
        let mutex = AsyncMutex()
        let people = [Person(), Person(), Person()]
        let (inside, most, turns) = (Guarded(0), Guarded(0), Guarded(0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    if number % 3 == 0 {
                        await people[number / 3 % 3].write(mutex)
                    } else {
                        await mutex.withLock {
                            let count = inside.withLock { count in
                                count += 1
                                return count
                            }
                            most.withLock { $0 = max($0, count) }
                            await Task.yield()
                            inside.withLock { $0 -= 1 }
                            turns.withLock { $0 += 1 }
                        }
                    }
                }
            }
        }
        var own = 0
        for person in people { own += await person.turns }
        #expect(most.withLock { $0 } == 1 && turns.withLock { $0 } == 200 && own == 100)
        #expect(!mutex.isTaken && mutex.waiterCount == 0)
    }
}

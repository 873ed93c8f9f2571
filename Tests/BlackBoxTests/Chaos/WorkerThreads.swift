import Foundation
import SyncConcurrency

/// A group of threads that run until their time is up. The first error of any thread stops all of them.
final class WorkerThreads: Sendable {
    private let state = Guarded(State())

    private struct State {
        var working = 0
        var isOver = false
        var error: (any Error)?
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    /// Calls `body` repeatedly on a new thread.
    func work(_ body: @escaping @Sendable () throws -> Void) {
        state.withLock { $0.working += 1 }
        let thread = Thread { [self] in
            do {
                while !isOver { try body() }
            } catch {
                let caught = UnmetConditionError("\(error)")
                state.withLock { state in
                    if state.error == nil { state.error = caught }
                    state.isOver = true
                }
            }
            state.withLock { $0.working -= 1 }
        }
        thread.stackSize = 4 * 1_024 * 1_024
        thread.start()
    }

    /// Lets the threads run for the duration, and then waits until each has finished its current call.
    func finish(after duration: Duration) throws {
        let start = ContinuousClock.now
        while !isOver, ContinuousClock.now - start < duration { usleep(5_000) }
        state.withLock { $0.isOver = true }
        try eventually("the crew's end") { state.withLock { $0.working == 0 } }
        if let error = state.withLock({ $0.error }) { throw error }
    }

    /// Waits for the duration or until the time is up.
    func rest(_ duration: Duration) {
        let start = ContinuousClock.now
        while !isOver, ContinuousClock.now - start < duration { usleep(2_000) }
    }
}

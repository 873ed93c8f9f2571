import ArgumentParser
import Dispatch
import Glibc
import SyncConcurrency
import SyncSimulation

/// Threads that share the work. Each world stays on one thread.
struct Workers: ParsableArguments {
    @Option(help: "Number of worlds to run at once, at most one per processor. Defaults to the number of processors.")
    var threads: Int?

    func validate() throws {
        if let threads, !(1...1_024).contains(threads) {
            throw ValidationError("--threads \(threads) is not possible; give a number from 1 to 1024.")
        }
    }

    /// The number of worlds that run at once: `concurrentPerform` makes at most one call per processor at a time.
    var count: Int {
        let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        return min(threads ?? processors, processors)
    }

    /// Calls `body` `count` times in parallel with the number of the call, and waits for all calls.
    func run(_ body: @Sendable (Int) -> Void) {
        SimulatedDisk.prepareForManyThreads()
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    /// Returns the results in the order of the inputs. After the first error, no new input is started.
    func map<Input: Sendable, Result: Sendable>(
        _ inputs: [Input], _ body: @Sendable (Input) throws -> Result
    ) throws -> [Result] {
        let state = Guarded(Progress<Result>(results: Array(repeating: nil, count: inputs.count)))
        run { _ in
            while let index = state.withLock({ $0.take() }) {
                do {
                    let result = try body(inputs[index])
                    state.withLock { $0.results[index] = result }
                } catch {
                    state.withLock { $0.failure = $0.failure ?? error }
                }
            }
        }
        let end = state.withLock { $0 }
        if let failure = end.failure {
            throw ProgramError(message: "\(failure)", status: ProgramError.propertyViolation)
        }
        return end.results.compactMap { $0 }
    }

    private struct Progress<Result: Sendable>: Sendable {
        var results: [Result?]
        var next = 0
        var failure: (any Error)?

        mutating func take() -> Int? {
            guard failure == nil, next < results.count else { return nil }
            defer { next += 1 }
            return next
        }
    }
}

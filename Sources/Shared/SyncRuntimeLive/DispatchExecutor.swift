import Dispatch

/// A serial executor for an actor whose work blocks, so that the actor does not occupy a thread of Swift's global pool.
///
/// Dispatch on Linux has no `DispatchSerialQueue`, so this shim wraps an ordinary serial queue.
public final class DispatchExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// Creates an executor with its own queue.
    ///
    /// - Parameter label: the name of the queue in a debugger.
    public init(label: String) {
        queue = DispatchQueue(label: label)
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }
}

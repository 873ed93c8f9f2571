import Dispatch

/// A thread of its own for an actor whose work blocks, so that it does not hold one of the few threads of Swift's
/// global pool.
///
/// Dispatch on Linux has no `DispatchSerialQueue`, hence this shim over an ordinary serial queue.
public final class DispatchExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: what the thread is called in a debugger.
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

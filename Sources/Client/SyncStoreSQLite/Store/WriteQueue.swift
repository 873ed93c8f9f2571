import Dispatch
import SyncConcurrency
import SyncCore

/// A call of the store that changes something. It waits for the writer, runs in a transaction, and has a result then.
protocol QueuedWrite: AnyObject, Sendable {
    /// Runs the call in a transaction of the writer. It may be called again after the transaction was rolled back.
    ///
    /// - Returns: Whether the changes are to be kept.
    func run(in transaction: WriteTransaction) throws -> Bool

    /// Sets the result of a call that could not be carried out.
    func fail(_ error: StoreError)
}

/// A queued call with its result.
final class WriteCall<Value: Sendable>: QueuedWrite {
    private let body: @Sendable (WriteTransaction) throws -> Value
    private let outcome = Guarded<Result<(value: Value, change: StoreChange), StoreError>?>(nil)

    init(_ body: @escaping @Sendable (WriteTransaction) throws -> Value) {
        self.body = body
    }

    func run(in transaction: WriteTransaction) throws -> Bool {
        let value = try body(transaction)
        let isKept = !transaction.rollsBack
        if isKept { try transaction.finish() }
        let change = isKept ? transaction.change : StoreChange()
        outcome.withLock { $0 = .success((value, change)) }
        return isKept
    }

    func fail(_ error: StoreError) {
        outcome.withLock { $0 = .failure(error) }
    }

    /// Returns the result of the call, with the change to publish. Must be called after the call has been carried out.
    func result() throws(StoreError) -> (value: Value, change: StoreChange) {
        guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("the call has been carried out") }
        return try outcome.get()
    }
}

/// The threads that wait for the store's writer.
///
/// The first thread in the queue carries out the calls of all waiting threads in one transaction. A commit takes a flush
/// of the disk, so the calls that arrive during a flush share the next one. (LevelDB's queue of writers does the same:
/// `DBImpl::Write` in https://github.com/google/leveldb/blob/1.23/db/db_impl.cc.)
final class WriteQueue: Sendable {
    /// The largest number of threads whose calls share a transaction. It bounds the time that each of them waits.
    private static let largestGroup = 64

    /// A thread that waits.
    private struct Place: Sendable {
        let calls: [any QueuedWrite]
        let turn: Turn
    }

    /// Wakes a waiting thread.
    private final class Turn: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let isDone = Guarded(false)

        /// Waits until another thread has carried out the calls, or until it is this thread's turn to do so.
        ///
        /// - Returns: Whether the calls have been carried out.
        func wait() -> Bool {
            semaphore.wait()
            return isDone.withLock { $0 }
        }

        func end() {
            isDone.withLock { $0 = true }
            semaphore.signal()
        }

        func begin() { semaphore.signal() }
    }

    private struct State: Sendable {
        var isTaken = false
        var waiting: [Place] = []
    }

    private let state = Guarded(State())

    /// The number of threads that wait.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Waits until the calls have been carried out, by this thread or by another one.
    ///
    /// - Parameter carryOut: carries out calls of several threads, while no other thread does so.
    func add(_ calls: [any QueuedWrite], _ carryOut: ([any QueuedWrite]) -> Void) {
        let turn: Turn? = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let turn = Turn()
            state.waiting.append(Place(calls: calls, turn: turn))
            return turn
        }
        if let turn, turn.wait() { return }
        let others = state.withLock { state in
            let others = Array(state.waiting.prefix(Self.largestGroup - 1))
            state.waiting.removeFirst(others.count)
            return others
        }
        carryOut(others.isEmpty ? calls : calls + others.flatMap(\.calls))
        for other in others { other.turn.end() }
        passOn()
    }

    /// Gives the turn to the thread that has waited longest.
    private func passOn() {
        let next: Place? = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.turn.begin()
    }
}

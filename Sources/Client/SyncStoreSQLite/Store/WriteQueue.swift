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

    /// The error of a call that could not be carried out; nil for any other.
    var failure: StoreError? { get }
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

    var failure: StoreError? {
        if case .failure(let error) = outcome.withLock({ $0 }) { error } else { nil }
    }

    /// Returns the result of the call, with the change to publish. Must be called after the call has been carried out.
    func result() throws(StoreError) -> (value: Value, change: StoreChange) {
        guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("the call has been carried out") }
        return try outcome.get()
    }
}

/// The threads that wait for the store's writer.
///
/// The first thread in the queue carries out the local writes of the threads behind it in its own transaction. A commit
/// takes a flush of the disk, so the writes that arrive during a flush share the next one. The calls of the engine do
/// not share transactions: they may change many rows, of which a savepoint would need a copy. (LevelDB's queue of
/// writers does the same: `DBImpl::Write` in https://github.com/google/leveldb/blob/1.23/db/db_impl.cc.)
final class WriteQueue: Sendable {
    /// The largest number of calls of several threads that share a transaction. It bounds the time that each of them
    /// waits.
    private static let largestGroup = 64

    /// A thread that waits.
    private struct Place: Sendable {
        let calls: [any QueuedWrite]
        let isShared: Bool
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
    /// - Parameters:
    ///   - isShared: whether the calls may share a transaction with those of other threads.
    ///   - carryOut: carries out calls in one transaction, while no other thread does so.
    func add(_ calls: [any QueuedWrite], sharing isShared: Bool, _ carryOut: ([any QueuedWrite]) -> Void) {
        let turn: Turn? = state.withLock { state in
            guard state.isTaken else {
                state.isTaken = true
                return nil
            }
            let turn = Turn()
            state.waiting.append(Place(calls: calls, isShared: isShared, turn: turn))
            return turn
        }
        if let turn, turn.wait() { return }
        let others = isShared ? takeOthers(besides: calls.count) : []
        carryOut(others.isEmpty ? calls : calls + others.flatMap(\.calls))
        for other in others { other.turn.end() }
        passOn()
    }

    /// Takes the longest group of waiting threads that fits beside some calls.
    private func takeOthers(besides own: Int) -> [Place] {
        state.withLock { state in
            var count = own
            let others = state.waiting.prefix { place in
                count += place.calls.count
                return place.isShared && count <= Self.largestGroup
            }
            state.waiting.removeFirst(others.count)
            return Array(others)
        }
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

import SyncConcurrency

/// The time of a simulation: it moves only when it is told to, and wakes those who wait for the moment it moves to.
///
/// Each sleeper belongs to a device, so that the sleepers of a suspended device can be held back.
final class VirtualTimeline: Sendable {
    fileprivate struct State: Sendable {
        var now = Duration.zero
        var nextID: UInt64 = 0
        var heap = DeadlineHeap()
        var sleepers: [UInt64: Sleeper] = [:]
        /// Cancelled before their continuation was stored: a cancellation handler may run first.
        var cancelledEarly: Set<UInt64> = []
        var suspended: Set<String> = []
        /// Past their deadline, but of a suspended device; in the order of their deadlines.
        var held: [UInt64] = []
    }

    struct Sleeper: Sendable {
        let device: String
        let deadline: Duration
        fileprivate let continuation: CheckedContinuation<Void, any Error>
    }

    private let state = Guarded(State())

    var now: Duration { state.withLock { $0.now } }

    func sleep(until deadline: Duration, device: String) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isCancelled = state.withLock { state in
                    if state.cancelledEarly.remove(id) != nil { return true }
                    state.sleepers[id] = Sleeper(device: device, deadline: deadline, continuation: continuation)
                    state.heap.insert(DeadlineHeap.Entry(deadline: deadline, id: id))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    // Not stored yet, or awake already: an id that woke is taken out again below.
                    state.cancelledEarly.insert(id)
                    return nil as CheckedContinuation<Void, any Error>?
                }
                state.held.removeAll { $0 == id }
                return sleeper.continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
        state.withLock { state in _ = state.cancelledEarly.remove(id) }
    }

    /// The earliest moment for which a sleeper waits that is not held back; may lie in the past.
    var nextDeadline: Duration? {
        state.withLock { state in
            state.dropCancelled()
            return state.heap.first?.deadline
        }
    }

    /// Moves time to `target`, never back, and wakes all who are due then. All are resumed before any of them runs.
    ///
    /// - Returns: how many woke.
    @discardableResult
    func advance(to target: Duration) -> Int {
        let due = state.withLock { state in
            state.now = max(state.now, target)
            return state.takeDue()
        }
        for continuation in due { continuation.resume() }
        return due.count
    }

    /// From now on no sleeper of the device wakes, until `resume`.
    func suspend(_ device: String) {
        state.withLock { state in _ = state.suspended.insert(device) }
    }

    /// Wakes the device, and those of its sleepers whose deadline has passed.
    func resume(_ device: String) {
        let due = state.withLock { state in
            state.suspended.remove(device)
            var released: [CheckedContinuation<Void, any Error>] = []
            state.held.removeAll { id in
                guard let sleeper = state.sleepers[id], sleeper.device == device else { return false }
                state.sleepers[id] = nil
                released.append(sleeper.continuation)
                return true
            }
            return released
        }
        for continuation in due { continuation.resume() }
    }

    /// Who sleeps, in the order of deadlines and then of falling asleep.
    var sleepers: [(device: String, deadline: Duration)] {
        state.withLock { state in
            state.sleepers.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
                .map { ($0.value.device, $0.value.deadline) }
        }
    }
}

extension VirtualTimeline.State {
    /// Takes those out of the heap who were cancelled while they waited in it.
    fileprivate mutating func dropCancelled() {
        while let first = heap.first, sleepers[first.id] == nil { heap.removeFirst() }
    }

    fileprivate mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
        var due: [CheckedContinuation<Void, any Error>] = []
        while let first = heap.first, first.deadline <= now {
            heap.removeFirst()
            guard let sleeper = sleepers[first.id] else { continue }
            if suspended.contains(sleeper.device) {
                held.append(first.id)
            } else {
                sleepers[first.id] = nil
                due.append(sleeper.continuation)
            }
        }
        return due
    }
}

/// A binary heap of deadlines, the earliest first; equal ones in the order of their ids.
struct DeadlineHeap: Sendable {
    struct Entry: Comparable, Sendable {
        let deadline: Duration
        let id: UInt64

        static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline, left.id) < (right.deadline, right.id)
        }
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0, case let parent = (child - 1) / 2, entries[child] < entries[parent] {
            entries.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() {
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while case let left = 2 * parent + 1, left < entries.count {
            let right = left + 1
            let child = right < entries.count && entries[right] < entries[left] ? right : left
            guard entries[child] < entries[parent] else { return }
            entries.swapAt(parent, child)
            parent = child
        }
    }
}

import SyncConcurrency

/// The time of a simulation. It advances only on request and wakes the sleepers whose deadline it reaches.
///
/// Each sleeper belongs to a device, so that the sleepers of a suspended device can be held back. A pausing clock falls
/// behind by the time that its device was suspended.
final class VirtualTimeline: Sendable {
    fileprivate struct State: Sendable {
        var now = Duration.zero
        var nextID: UInt64 = 0
        var heap = DeadlineHeap()
        var sleepers: [UInt64: Sleeper] = [:]
        /// The sleepers that were cancelled before their continuation was stored: a cancellation handler may run first.
        var cancelledEarly: Set<UInt64> = []
        var suspended: [String: Suspension] = [:]
        /// The sleepers of suspended devices whose time has passed, in the order of their times.
        var held: [UInt64] = []
        /// The amounts by which devices' clocks are behind.
        var lags: [String: Duration] = [:]
    }

    fileprivate struct Suspension: Sendable {
        let start: Duration
        let pausesClock: Bool
    }

    struct Sleeper: Sendable {
        let device: String
        /// The time when the sleeper is due, unless the device's clock pauses before.
        fileprivate(set) var time: Duration
        fileprivate let continuation: CheckedContinuation<Void, any Error>
    }

    private let state = Guarded(State())

    var now: Duration { state.withLock { $0.now } }

    /// Returns the time of a device's clock.
    func now(of device: String) -> Duration {
        state.withLock { state in
            let moment =
                switch state.suspended[device] {
                case .some(let suspension) where suspension.pausesClock: suspension.start
                default: state.now
                }
            return moment - state.lags[device, default: .zero]
        }
    }

    /// Waits until the device's clock reaches `deadline`.
    ///
    /// - Parameter deadline: a time on the device's clock.
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
                    let time = deadline + state.lags[device, default: .zero]
                    state.sleepers[id] = Sleeper(device: device, time: time, continuation: continuation)
                    state.heap.insert(DeadlineHeap.Entry(deadline: time, id: id))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    // The continuation is not stored yet, or the sleeper is already awake. In the second case, the last
                    // line of this function removes the id again.
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

    /// The earliest deadline of a sleeper that is not held back. It may be in the past.
    var nextDeadline: Duration? {
        state.withLock { state in
            state.dropOutdated()
            return state.heap.first?.deadline
        }
    }

    /// Advances time to `target`, never back, and wakes all sleepers that are due. All due sleepers are resumed before
    /// any of them runs. Those of a suspended device are held back instead.
    ///
    /// - Returns: the number of sleepers that woke.
    @discardableResult
    func advance(to target: Duration) -> Int {
        let due = state.withLock { state in
            state.now = max(state.now, target)
            return state.takeDue()
        }
        for continuation in due { continuation.resume() }
        return due.count
    }

    /// Holds back the sleepers of a device until `resume`. Also stops the device's clock if `pausingClock` is true.
    func suspend(_ device: String, pausingClock: Bool) {
        state.withLock { state in
            guard state.suspended[device] == nil else { return }
            state.suspended[device] = Suspension(start: state.now, pausesClock: pausingClock)
        }
    }

    /// Resumes the device, and wakes those of its sleepers whose deadline has passed on its clock.
    func resume(_ device: String) {
        let due = state.withLock { state in
            guard let suspension = state.suspended.removeValue(forKey: device) else {
                return [CheckedContinuation<Void, any Error>]()
            }
            if suspension.pausesClock { state.delay(device, by: state.now - suspension.start) }
            var released: [CheckedContinuation<Void, any Error>] = []
            state.held.removeAll { id in
                guard let sleeper = state.sleepers[id], sleeper.device == device else { return false }
                if sleeper.time > state.now {
                    state.heap.insert(DeadlineHeap.Entry(deadline: sleeper.time, id: id))
                } else {
                    state.sleepers[id] = nil
                    released.append(sleeper.continuation)
                }
                return true
            }
            return released
        }
        for continuation in due { continuation.resume() }
    }

    /// The devices of all sleepers and their times, ordered by time and then by the start of the sleep.
    var sleepers: [(device: String, time: Duration)] {
        state.withLock { state in
            state.sleepers.sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
                .map { ($0.value.device, $0.value.time) }
        }
    }
}

extension VirtualTimeline.State {
    /// Removes heap entries of sleepers that were cancelled or have a new time.
    fileprivate mutating func dropOutdated() {
        while let first = heap.first, sleepers[first.id]?.time != first.deadline { heap.removeFirst() }
    }

    /// Records that the clock of a device has stopped for the given time.
    fileprivate mutating func delay(_ device: String, by pause: Duration) {
        guard pause > .zero else { return }
        lags[device, default: .zero] += pause
        let held = Set(held)
        for (id, sleeper) in sleepers where sleeper.device == device {
            let time = sleeper.time + pause
            sleepers[id]?.time = time
            if !held.contains(id) { heap.insert(DeadlineHeap.Entry(deadline: time, id: id)) }
        }
    }

    fileprivate mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
        var due: [CheckedContinuation<Void, any Error>] = []
        while let first = heap.first, first.deadline <= now {
            heap.removeFirst()
            guard let sleeper = sleepers[first.id], sleeper.time == first.deadline else { continue }
            if suspended[sleeper.device] != nil {
                held.append(first.id)
            } else {
                sleepers[first.id] = nil
                due.append(sleeper.continuation)
            }
        }
        return due
    }
}

/// A binary heap of deadlines, earliest first. Equal deadlines are ordered by id.
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

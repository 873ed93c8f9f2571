import SyncConcurrency

/// The time of a simulation: it moves only when it is told to, and wakes those who wait for the moment it moves to.
///
/// Each sleeper belongs to a device, so that the sleepers of a suspended device can be held back. The clock of a device
/// whose clock pauses falls behind by as long as the device was suspended.
final class VirtualTimeline: Sendable {
    fileprivate struct State: Sendable {
        var now = Duration.zero
        var nextID: UInt64 = 0
        var heap = DeadlineHeap()
        var sleepers: [UInt64: Sleeper] = [:]
        /// Cancelled before their continuation was stored: a cancellation handler may run first.
        var cancelledEarly: Set<UInt64> = []
        var suspended: [String: Suspension] = [:]
        /// Past their time, but of a suspended device; in the order of their times.
        var held: [UInt64] = []
        /// How far the clocks of devices are behind.
        var lags: [String: Duration] = [:]
    }

    fileprivate struct Suspension: Sendable {
        let start: Duration
        let pausesClock: Bool
    }

    struct Sleeper: Sendable {
        let device: String
        /// When it is due, unless the device's clock pauses before.
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

    /// - Parameter deadline: on the clock of the device.
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
            state.dropOutdated()
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

    /// From now on no sleeper of the device wakes, until `resume`; and its clock stands still, when it is one that pauses.
    func suspend(_ device: String, pausingClock: Bool) {
        state.withLock { state in
            guard state.suspended[device] == nil else { return }
            state.suspended[device] = Suspension(start: state.now, pausesClock: pausingClock)
        }
    }

    /// Wakes the device, and those of its sleepers whose deadline has passed on its clock.
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

    /// The devices that sleep and until when, in the order of these times and then of falling asleep.
    var sleepers: [(device: String, time: Duration)] {
        state.withLock { state in
            state.sleepers.sorted { ($0.value.time, $0.key) < ($1.value.time, $1.key) }
                .map { ($0.value.device, $0.value.time) }
        }
    }
}

extension VirtualTimeline.State {
    /// Takes out of the heap who was cancelled while waiting in it, or waits for another time now.
    fileprivate mutating func dropOutdated() {
        while let first = heap.first, sleepers[first.id]?.time != first.deadline { heap.removeFirst() }
    }

    /// The clock of a device has stood still for so long.
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

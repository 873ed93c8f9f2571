import SyncConcurrency

/// The events of a simulation in order: a hash of all lines, and the text of the last ones.
///
/// Lines must not contain addresses, task ids, or anything whose order depends on hashing, because runs of one seed are
/// compared by the hash.
public final class SimulationTrace: Sendable {
    private struct State: Sendable {
        var hash = StableHash()
        var count = 0
        var lines: [Line] = []
        var next = 0
    }

    /// One event.
    public struct Line: Hashable, Sendable, CustomStringConvertible {
        /// The virtual time since the simulation began.
        public let time: Duration
        /// The party of an event: a device, the server, the network.
        public let party: String
        public let text: String

        public var description: String { "\(time) \(party): \(text)" }
    }

    private let state = Guarded(State())
    private let capacity: Int

    /// - Parameter capacity: the number of last lines to keep as text.
    public init(capacity: Int = 512) {
        self.capacity = max(capacity, 1)
    }

    public func record(_ text: String, by party: String, at time: Duration) {
        state.withLock { state in
            let (seconds, attoseconds) = time.components
            state.hash.combine(seconds)
            state.hash.combine(attoseconds)
            state.hash.combine(party)
            state.hash.combine(text)
            state.count += 1
            let line = Line(time: time, party: party, text: text)
            if state.lines.count < capacity {
                state.lines.append(line)
            } else {
                state.lines[state.next] = line
                state.next = (state.next + 1) % capacity
            }
        }
    }

    /// A hash of the time, party, and text of all lines so far.
    public var hash: UInt64 { state.withLock { $0.hash.value } }

    /// The number of lines so far.
    public var count: Int { state.withLock { $0.count } }

    /// The last lines, oldest first.
    public var lines: [Line] {
        state.withLock { state in Array(state.lines[state.next...] + state.lines[..<state.next]) }
    }
}

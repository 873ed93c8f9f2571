import SyncConcurrency

/// The events of a simulation, in their order: a hash over everything, and the last lines in words.
///
/// Lines must not hold addresses, task ids, or anything whose order depends on hashing: two runs of one seed are
/// compared by the hash.
public final class SimulationTrace: Sendable {
    private struct State: Sendable {
        var hash = StableHash()
        var count = 0
        var lines: [Line] = []
        var next = 0
    }

    /// One thing that happened.
    public struct Line: Hashable, Sendable, CustomStringConvertible {
        /// Since the simulation began.
        public let time: Duration
        /// The party of an event: a device, the server, the network.
        public let party: String
        public let text: String

        public var description: String { "\(time) \(party): \(text)" }
    }

    private let state = Guarded(State())
    private let capacity: Int

    /// - Parameter capacity: how many of the last lines are kept in words.
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

    /// Over the time, party and text of all lines so far.
    public var hash: UInt64 { state.withLock { $0.hash.value } }

    /// How many lines there have been.
    public var count: Int { state.withLock { $0.count } }

    /// The last lines, oldest first.
    public var lines: [Line] {
        state.withLock { state in Array(state.lines[state.next...] + state.lines[..<state.next]) }
    }
}

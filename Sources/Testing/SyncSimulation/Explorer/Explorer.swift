import SyncModel

/// A model checker that visits every reachable state of a small world: two devices, a server, up to three writes per
/// device, and some faults.
public struct Explorer: Sendable {
    /// The maximum number of faults on one path: a lost message, a repeated push, a timer that fires early, a crash, or
    /// a change of access.
    public var faults: Int
    /// The maximum number of states. A run that finds more ends with `isComplete` false.
    public var stateLimit: Int
    /// The writes of each device.
    private let scripts: [[ExplorerWrite]]

    /// - Parameter writes: the number of writes of each device, at most three.
    public init(writes: Int = 3, faults: Int = 2, stateLimit: Int = 20_000_000) {
        self.faults = faults
        self.stateLimit = stateLimit
        let shared = Self.id(1)
        scripts = [
            [
                ExplorerWrite(record: shared, kind: .create(1)), ExplorerWrite(record: shared, kind: .set(2)),
                ExplorerWrite(record: shared, kind: .delete),
            ],
            [
                ExplorerWrite(record: Self.id(2), kind: .create(1)), ExplorerWrite(record: shared, kind: .set(3)),
                ExplorerWrite(record: Self.id(2), kind: .set(4)),
            ],
        ].map { Array($0.prefix(writes)) }
    }

    private static func id(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0, low: number))
    }

    /// The result of a run.
    public struct Report: Hashable, Sendable {
        public internal(set) var states = 0
        /// The number of moves between the states.
        public internal(set) var moves = 0
        /// The number of states in which only faults can still happen.
        public internal(set) var rests = 0
        public internal(set) var isComplete = false
        /// The first violation found, with a shortest path to it.
        public internal(set) var violation: Violation?
    }

    /// A property that does not hold, and the moves that lead to the state.
    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        public let words: String
        public let path: [String]

        public var description: String {
            ([words] + path.enumerated().map { "  \($0.offset + 1). \($0.element)" }).joined(separator: "\n")
        }
    }

    /// Explores the states breadth first, so that a violation comes with a shortest path to it.
    ///
    /// - Parameter progress: called with the number of visited states after every 100,000.
    public func run(progress: (Int) -> Void = { _ in }) -> Report {
        var report = Report()
        let start = ExplorerWorld(scripts: scripts, faults: faults)
        var seen: Set<Digest> = [Digest(start)]
        var trail: [Step] = [Step(from: -1, move: nil)]
        var layer: [(world: ExplorerWorld, step: Int)] = [(start, 0)]
        while !layer.isEmpty {
            var next: [(world: ExplorerWorld, step: Int)] = []
            for (world, step) in layer {
                report.states += 1
                if report.states % 100_000 == 0 { progress(report.states) }
                let moves = world.moves
                // The world is at rest when only faults can still happen.
                let isAtRest = moves.allSatisfy(\.isFault)
                if isAtRest { report.rests += 1 }
                if let words = world.violation() ?? (isAtRest ? world.violationAtRest() : nil) {
                    report.violation = Violation(words: words, path: path(to: step, in: trail))
                    return report
                }
                for move in moves {
                    report.moves += 1
                    var successor = world
                    successor.make(move)
                    guard seen.insert(Digest(successor)).inserted else { continue }
                    guard seen.count <= stateLimit else { return report }
                    trail.append(Step(from: step, move: move))
                    next.append((successor, trail.count - 1))
                }
            }
            layer = next
        }
        report.isComplete = true
        return report
    }

    private struct Step {
        let from: Int
        let move: ExplorerWorld.Move?
    }

    private func path(to step: Int, in trail: [Step]) -> [String] {
        var words: [String] = []
        var step = step
        while step >= 0, let move = trail[step].move {
            words.append("\(move)")
            step = trail[step].from
        }
        return words.reversed()
    }

    /// A 64-bit hash of a state, because the states themselves would not fit into memory.
    ///
    /// Among ten million states, two have the same hash with a probability of 3 in a million. One of them is then not
    /// visited.
    private struct Digest: Hashable {
        let bits: Int

        init(_ world: ExplorerWorld) {
            bits = world.hashValue
        }
    }
}

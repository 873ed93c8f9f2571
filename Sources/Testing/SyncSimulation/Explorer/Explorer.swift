import SyncModel

/// Visits every state that a small world can reach: two devices and a server, three writes each, some faults.
public struct Explorer: Sendable {
    /// Faults in one run: a lost or repeated message, an impatient deadline, a crash.
    public var faults: Int
    /// Gives up, and says so, after this many states.
    public var stateLimit: Int
    /// The writes of each device.
    private let scripts: [[ExplorerWrite]]

    /// - Parameter writes: of each device, at most three.
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

    public struct Report: Hashable, Sendable {
        public internal(set) var states = 0
        /// Moves between them.
        public internal(set) var moves = 0
        /// States in which nothing can happen any more.
        public internal(set) var rests = 0
        public internal(set) var isComplete = false
        /// The first broken invariant, and the shortest way to it that was found.
        public internal(set) var violation: Violation?
    }

    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        public let words: String
        public let path: [String]

        public var description: String {
            ([words] + path.enumerated().map { "  \($0.offset + 1). \($0.element)" }).joined(separator: "\n")
        }
    }

    /// Explores breadth first, so that a violation comes with a shortest way to it.
    ///
    /// - Parameter progress: called now and then with the number of states so far.
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
                // Without a fault nothing else can come: the world has come to rest.
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

    /// 64 bits of a state: worlds themselves would not fit into memory. Of ten million states, two share theirs, and
    /// one of them goes unvisited, with a probability of 3 in a million.
    private struct Digest: Hashable {
        let bits: Int

        init(_ world: ExplorerWorld) {
            bits = world.hashValue
        }
    }
}

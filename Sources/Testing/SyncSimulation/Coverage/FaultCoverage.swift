/// How often each fault has struck in each phase of an operation: a generator that has become too narrow shows as an
/// empty cell.
public struct FaultCoverage: Hashable, Sendable {
    public struct Cell: Hashable, Sendable, CustomStringConvertible {
        public let fault: FaultKind
        public let phase: OperationPhase

        public init(_ fault: FaultKind, _ phase: OperationPhase) {
            self.fault = fault
            self.phase = phase
        }

        public var description: String { "\(fault.rawValue) while \(phase.rawValue)" }
    }

    public private(set) var counts: [Cell: Int] = [:]

    public init() {}

    public mutating func count(_ fault: FaultKind, _ phase: OperationPhase, times: Int = 1) {
        if times > 0 { counts[Cell(fault, phase), default: 0] += times }
    }

    public mutating func add(_ other: FaultCoverage) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }

    /// How often a fault has struck, in whatever phase.
    public func total(of fault: FaultKind) -> Int {
        counts.reduce(0) { $0 + ($1.key.fault == fault ? $1.value : 0) }
    }

    /// Faults of all disks.
    public var diskFaults: Int { FaultKind.toDisks.reduce(0) { $0 + total(of: $1) } }

    /// Kinds of faults, with the phases that they can meet.
    private static let blocks: [(faults: [FaultKind], phases: [OperationPhase])] = [
        (FaultKind.onTheWay, OperationPhase.exchanges),
        (FaultKind.toDevices + FaultKind.toServers, [.idle] + OperationPhase.exchanges),
        (FaultKind.toDisks, OperationPhase.ofStores + OperationPhase.ofServers),
    ]

    /// The cells that a wide run has to fill: all that can occur.
    public static let reachable: [Cell] = blocks.flatMap { block in
        block.faults.flatMap { fault in
            block.phases.filter { isReachable(fault, $0) }.map { Cell(fault, $0) }
        }
    }

    private static func isReachable(_ fault: FaultKind, _ phase: OperationPhase) -> Bool {
        switch fault {
        case .pushTooLarge: phase == .pushTravels
        case .serverLies: phase == .pushTravels || phase == .pushCommitted || phase == .pageTravels
        case .staleAnswer: phase == .pullTravels || phase == .awaitingHello
        case .refused, .busy, .requestLost, .requestDamaged, .serverGone, .unauthorized, .forbidden, .requestTimeout,
            .retryLater, .serverError, .wrongShape:
            // A fault of a request happens before the server has done anything.
            phase != .pushCommitted && phase != .pageTravels
        case .answerBroken, .answerLost, .answerDamaged: phase != .pushTravels && phase != .pullTravels
        case .doubled: phase != .pushCommitted && phase != .pageTravels
        case .diskFull, .diskKill, .diskPowerLost:
            // Those who only read change nothing that could be full or cut short.
            phase != .reading && phase != .serverReading
        default: true
        }
    }

    /// The cells that have to be filled and are not.
    public var missing: [Cell] { Self.reachable.filter { counts[$0] == nil } }

    /// Faults down, phases across; a dash where the two cannot meet.
    public var table: [String] {
        Self.blocks.flatMap { block in
            [""] + [Self.line("", block.phases.map(\.rawValue))]
                + block.faults.map { fault in
                    Self.line(
                        fault.rawValue,
                        block.phases.map { phase in
                            Self.isReachable(fault, phase) ? "\(counts[Cell(fault, phase)] ?? 0)" : "-"
                        })
                }
        }
    }

    private static func line(_ name: String, _ cells: [String]) -> String {
        func padding(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(1, width - text.utf8.count))
        }
        return name + padding(name, 26) + cells.map { padding($0, 18) + $0 }.joined()
    }
}

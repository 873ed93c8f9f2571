/// The number of times that each fault has happened in each phase of an operation.
///
/// An empty cell that `reachable` lists shows that the generator of scripts has become too narrow.
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

    /// Returns how often a fault has happened, in any phase.
    public func total(of fault: FaultKind) -> Int {
        counts.reduce(0) { $0 + ($1.key.fault == fault ? $1.value : 0) }
    }

    /// The number of disk faults.
    public var diskFaults: Int { FaultKind.toDisks.reduce(0) { $0 + total(of: $1) } }

    /// The groups of faults, with the phases in which at least one fault of the group can happen.
    private static let blocks: [(faults: [FaultKind], phases: [OperationPhase])] = [
        (FaultKind.onTheWay, OperationPhase.exchanges),
        (FaultKind.toDevices + FaultKind.toServers, [.idle] + OperationPhase.exchanges),
        (FaultKind.toDisks, OperationPhase.ofStores + OperationPhase.ofServers),
    ]

    /// The cells that can occur, all of which a wide run must fill.
    public static let reachable: [Cell] = blocks.flatMap { block in
        block.faults.flatMap { fault in
            block.phases.filter { isReachable(fault, $0) }.map { Cell(fault, $0) }
        }
    }

    private static func isReachable(_ fault: FaultKind, _ phase: OperationPhase) -> Bool {
        switch fault {
        case .pushTooLarge: phase == .pushTravels
        case .serverLies: phase == .pushTravels || phase == .pushCommitted || phase == .pageTravels
        case .staleResponse: phase == .pullTravels || phase == .awaitingHello
        case .refused, .busy, .requestLost, .requestDamaged, .serverGone, .unauthorized, .forbidden, .requestTimeout,
            .retryLater, .serverError, .wrongShape:
            // A fault of a request happens before the server has handled it.
            phase != .pushCommitted && phase != .pageTravels
        case .responseBroken, .responseLost, .responseDamaged: phase != .pushTravels && phase != .pullTravels
        case .doubled: phase != .pushCommitted && phase != .pageTravels
        case .diskFull, .diskKill, .diskPowerLost:
            // Operations that only read make no changes that could fill the disk or be interrupted.
            phase != .reading && phase != .serverReading
        default: true
        }
    }

    /// The reachable cells that are still empty.
    public var missing: [Cell] { Self.reachable.filter { counts[$0] == nil } }

    /// The coverage as a table, with a row per fault and a column per phase. A dash marks a cell that cannot occur.
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

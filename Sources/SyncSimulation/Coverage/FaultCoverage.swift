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

    /// The cells that a wide run has to fill: all that can occur.
    public static let reachable: [Cell] = {
        var cells: [Cell] = []
        for fault in FaultKind.onTheWay {
            for phase in OperationPhase.exchanges where isReachable(fault, phase) { cells.append(Cell(fault, phase)) }
        }
        for fault in FaultKind.toDevices + FaultKind.toServers {
            for phase in [.idle] + OperationPhase.exchanges where isReachable(fault, phase) {
                cells.append(Cell(fault, phase))
            }
        }
        for fault in FaultKind.toDisks {
            for phase in OperationPhase.ofStores + OperationPhase.ofServers where isReachable(fault, phase) {
                cells.append(Cell(fault, phase))
            }
        }
        return cells
    }()

    private static func isReachable(_ fault: FaultKind, _ phase: OperationPhase) -> Bool {
        switch fault {
        case .refused, .busy, .requestLost, .requestDamaged, .serverGone:
            // What befalls a request befalls it before the server has done anything.
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

    /// One line for each cell, with its count.
    public var table: [String] {
        Self.reachable.map { cell in
            let count = "\(counts[cell] ?? 0)"
            return String(repeating: " ", count: max(0, 10 - count.utf8.count)) + count + "  \(cell)"
        }
    }
}

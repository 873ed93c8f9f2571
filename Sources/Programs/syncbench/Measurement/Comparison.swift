/// Two implementations of the same work, measured alternately, so that changes in the machine's load affect both:
/// `basis` is the C program, or another stated reference, and `ours` is the engine.
struct Comparison {
    let row: BenchmarkRow
    let name: String
    /// The size of the data, which is part of the name in a record.
    var size = ""
    /// The units of work in one run.
    let units: Int
    let unit: String
    var measure = Measure.cpu
    let basis: () throws -> Cost
    let ours: () throws -> Cost

    enum Measure {
        /// Units per second of CPU, for work that is not limited by a disk.
        case cpu
        /// Units per second, for work that waits for a disk or for other threads.
        case wall
        /// Milliseconds of wall-clock time per unit.
        case latency
    }

    /// Runs both alternately, and returns the medians of both and of their ratio.
    func run(rounds: Int) throws -> Figure {
        figure(of: try costs(rounds: rounds))
    }

    /// Runs both alternately, and returns the costs of each round.
    func costs(rounds: Int) throws -> [(basis: Cost, ours: Cost)] {
        try (0..<rounds).map { _ in (try basis(), try ours()) }
    }

    /// Returns the medians of both and of their ratio.
    func figure(of costs: [(basis: Cost, ours: Cost)]) -> Figure {
        let bases = costs.map { value(seconds($0.basis)) }
        let mine = costs.map { value(seconds($0.ours)) }
        let ratios = costs.map { seconds($0.basis) / seconds($0.ours) }
        let unit =
            switch measure {
            case .cpu: "\(unit)/cpu-s"
            case .wall: "\(unit)/s"
            case .latency: "ms"
            }
        return Figure(
            row: row, name: name, size: size, unit: unit, ours: mine.median, basis: bases.median, ratio: ratios.median)
    }

    private func seconds(_ cost: Cost) -> Double {
        measure == .cpu ? cost.cpuSeconds : cost.wallSeconds
    }

    private func value(_ seconds: Double) -> Double {
        measure == .latency ? 1_000 * seconds / Double(units) : Double(units) / seconds
    }
}

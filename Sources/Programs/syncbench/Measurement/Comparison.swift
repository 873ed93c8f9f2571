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
        var bases: [Double] = []
        var mine: [Double] = []
        var ratios: [Double] = []
        for _ in 0..<rounds {
            let basis = seconds(try basis())
            let ours = seconds(try ours())
            bases.append(value(basis))
            mine.append(value(ours))
            ratios.append(basis / ours)
        }
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

import CRawSQLite

/// The CPU time and wall-clock time of one run.
struct Cost {
    var cpuSeconds: Double
    var wallSeconds: Double

    /// Returns the cost of `body`, measured with the process's clocks.
    static func of(_ body: () throws -> Void) rethrows -> Cost {
        let cpu = raw_cpu_nanoseconds()
        let wall = try ContinuousClock().measure(body)
        return Cost(
            cpuSeconds: Double(raw_cpu_nanoseconds() - cpu) / 1e9,
            wallSeconds: Double(wall.components.seconds) + Double(wall.components.attoseconds) / 1e18)
    }
}

/// Two implementations of the same work, measured alternately, so that changes in the machine's load affect both:
/// `floor` is the C program, and `ours` is the engine.
struct Comparison {
    let name: String
    /// The units of work in one run.
    let units: Int
    let unit: String
    var basis = Basis.cpu
    let floor: () throws -> Cost
    let ours: () throws -> Cost

    enum Basis: String {
        /// CPU time of this process, for work that is not limited by a disk.
        case cpu = "cpu-s"
        /// Wall-clock time, for work that waits for a disk.
        case wall = "s"
    }

    /// Runs both alternately, and returns the medians of the speed of `floor`, the speed of `ours`, and the ratio of
    /// `ours` to `floor`.
    func run(rounds: Int) throws -> Row {
        var floors: [Double] = []
        var mine: [Double] = []
        var ratios: [Double] = []
        for _ in 0..<rounds {
            let floor = seconds(try floor())
            let ours = seconds(try ours())
            floors.append(Double(units) / floor)
            mine.append(Double(units) / ours)
            ratios.append(floor / ours)
        }
        return Row(
            name: name, unit: "\(unit)/\(basis.rawValue)", floor: floors.median, ours: mine.median, ratio: ratios.median
        )
    }

    private func seconds(_ cost: Cost) -> Double {
        basis == .cpu ? cost.cpuSeconds : cost.wallSeconds
    }
}

/// One line of the results.
struct Row {
    let name: String
    let unit: String
    let floor: Double
    let ours: Double
    let ratio: Double
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

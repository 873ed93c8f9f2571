import CRawSQLite

/// The cost of one run of one subject.
struct Cost {
    var cpuSeconds: Double
    var wallSeconds: Double

    /// Measures `body` by the clocks of the process.
    static func of(_ body: () throws -> Void) rethrows -> Cost {
        let cpu = raw_cpu_nanoseconds()
        let wall = try ContinuousClock().measure(body)
        return Cost(
            cpuSeconds: Double(raw_cpu_nanoseconds() - cpu) / 1e9,
            wallSeconds: Double(wall.components.seconds) + Double(wall.components.attoseconds) / 1e18)
    }
}

/// Two subjects that do the same work, measured in turn: the machine's mood then touches both.
struct Comparison {
    let name: String
    /// How many units of work one run does.
    let units: Int
    let unit: String
    var basis = Basis.cpu
    let floor: () throws -> Cost
    let ours: () throws -> Cost

    enum Basis: String {
        /// CPU time of this process: for work that no disk bounds.
        case cpu = "cpu-s"
        /// Time by the clock: for work that waits for a disk.
        case wall = "s"
    }

    /// Runs both in turn, and gives the medians: the floor, ours, and ours as a share of the floor's speed.
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

/// One line of the result.
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

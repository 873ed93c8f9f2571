import Foundation

/// The cost of one figure at several sizes.
struct Growth {
    let row: BenchmarkRow
    let name: String
    /// The unit of the figure, such as `writes/cpu-s`. The points are costs of one of them.
    let unit: String
    var points: [Point]
    /// The same for the C program, or another basis; empty without one.
    var basis: [Point] = []

    struct Point: Hashable {
        /// The number of records that exist.
        let records: Double
        /// The microseconds of one unit.
        let microseconds: Double
    }

    /// The fitted exponents, such as `n^0.10, basis n^0.08`.
    var exponents: String {
        let ours = Self.exponent(of: points).map { String(format: "n^%.2f", $0) }
        let basis = Self.exponent(of: basis).map { String(format: "basis n^%.2f", $0) }
        return [ours, basis].compactMap(\.self).joined(separator: ", ")
    }

    /// Returns the exponent of a power law, fitted by least squares to the logarithms: 0 if the cost does not depend on
    /// the number of records, 1 if it is proportional to it. Nil with fewer than two different sizes.
    static func exponent(of points: [Point]) -> Double? {
        let x = points.map { log($0.records) }
        let y = points.map { log($0.microseconds) }
        let (meanX, meanY) = (x.reduce(0, +) / Double(x.count), y.reduce(0, +) / Double(y.count))
        let spread = x.reduce(0) { $0 + ($1 - meanX) * ($1 - meanX) }
        guard spread > 0 else { return nil }
        return zip(x, y).reduce(0) { $0 + ($1.0 - meanX) * ($1.1 - meanY) } / spread
    }

    /// Collects the figures of several runs, each with its number of records, in the order of the first run.
    static func of(_ runs: [(records: Int64, figures: [Figure])]) -> [Growth] {
        var growths: [Growth] = []
        for (records, figures) in runs {
            for figure in figures {
                guard let ours = figure.microseconds else { continue }
                let known = growths.firstIndex {
                    $0.row == figure.row && $0.name == figure.name && $0.unit == figure.unit
                }
                let index = known ?? growths.endIndex
                if known == nil {
                    growths.append(Growth(row: figure.row, name: figure.name, unit: figure.unit, points: []))
                }
                growths[index].points.append(Point(records: Double(records), microseconds: ours))
                if let basis = figure.basisMicroseconds {
                    growths[index].basis.append(Point(records: Double(records), microseconds: basis))
                }
            }
        }
        return growths
    }
}

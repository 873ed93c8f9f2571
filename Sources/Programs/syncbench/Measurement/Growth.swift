import Foundation

/// The cost of one figure at several sizes.
struct Growth {
    let row: BenchmarkRow
    let name: String
    /// What one unit of the cost is, such as `writes`.
    let unit: String
    var points: [Point]

    struct Point: Hashable {
        /// The number of records that exist.
        let records: Double
        /// The microseconds of one unit.
        let microseconds: Double
    }

    /// The exponent of a power law, fitted by least squares to the logarithms: 0 if the cost does not depend on the
    /// number of records, 1 if it is proportional to it. Nil with fewer than two different sizes.
    var exponent: Double? {
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
                guard let microseconds = figure.microseconds, microseconds.isFinite, microseconds > 0 else { continue }
                let point = Point(records: Double(records), microseconds: microseconds)
                if let index = growths.firstIndex(where: { $0.row == figure.row && $0.name == figure.name }) {
                    growths[index].points.append(point)
                } else {
                    let unit = figure.unit.split(separator: "/").first.map(String.init) ?? figure.unit
                    growths.append(Growth(row: figure.row, name: figure.name, unit: unit, points: [point]))
                }
            }
        }
        return growths
    }
}

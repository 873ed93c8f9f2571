import Foundation

/// The rows of the table of performance goals, which each measured figure belongs to.
enum BenchmarkRow: String, CaseIterable, Codable, Sendable {
    case firstSync = "P1"
    case memory = "P2"
    case write = "P3"
    case bulkWrite = "P3b"
    case read = "P4"
    case list = "P4b"
    case delta = "P5"
    case importedSync = "P5b"
    case listAll = "P5c"
    case merge = "P6"
    case push = "P7"
    case pull = "P8"
    case visibility = "P9"
    case idle = "P10"
    case size = "P11"
    case start = "P12"
}

/// One result: the median of all rounds, beside that of the basis if there is one.
struct Figure: Codable, Hashable {
    let row: BenchmarkRow
    /// The measured work, without the size of the data.
    let name: String
    /// The size of the data; empty if there is only one.
    var size = ""
    let unit: String
    let ours: Double
    /// The result of the C program or of another stated reference; nil if nothing comparable was measured.
    var basis: Double?
    /// The cost of the basis divided by ours, so that more is better; nil without a basis.
    var ratio: Double?

    /// Distinguishes the figure from all others of a run, and finds it in another run.
    var key: String { [row.rawValue, name, size, unit].filter { !$0.isEmpty }.joined(separator: " ") }

    /// Whether the figure is the same on a busy machine: CPU time and bytes are, but a wall-clock time waits for disks
    /// and for other programs.
    var isSteady: Bool { unit.hasSuffix("/cpu-s") || unit.hasPrefix("bytes") }

    /// The line of the results: row, ratio, name, and both values. Without a basis, the value takes the ratio's place.
    var line: String {
        let title = size.isEmpty ? name : "\(name), \(size)"
        guard let ratio, let basis else { return "\(row.rawValue) \(Self.text(ours)) \(unit): \(title); no basis" }
        return "\(row.rawValue) \(String(format: "%.2f", ratio)) \(title) "
            + "(\(Self.text(ours)) against \(Self.text(basis)) \(unit))"
    }

    /// The microseconds that one unit costs; nil if the figure is not about time.
    var microseconds: Double? { microseconds(of: ours) }

    /// The microseconds that one unit costs the basis; nil without a basis.
    var basisMicroseconds: Double? { basis.flatMap { microseconds(of: $0) } }

    private func microseconds(of value: Double) -> Double? {
        let cost: Double? = unit == "ms" ? value * 1_000 : unit.contains("/") ? 1e6 / value : nil
        return cost.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
    }

    /// Returns a number with two or three decimal places, or as a whole number with separators.
    static func text(_ number: Double) -> String {
        guard number.isFinite else { return "\(number)" }
        if abs(number) < 100 { return String(format: abs(number) < 1 ? "%.3f" : "%.2f", number) }
        var digits = String(Int(number.rounded()))
        var text = ""
        while digits.count > 3 {
            text = "," + digits.suffix(3) + text
            digits.removeLast(3)
        }
        return digits + text
    }
}

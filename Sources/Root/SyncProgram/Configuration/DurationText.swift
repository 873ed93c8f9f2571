/// A duration as people write it: a whole number and its unit, `500ms`, `30s`, `5m`, `2h`, `1d`.
package struct DurationText: Hashable, Sendable, CustomStringConvertible {
    package let duration: Duration

    package init(_ duration: Duration) {
        self.duration = duration
    }

    /// Nil when the text has no unit, no number, or is not exact.
    package init?(parsing text: String) {
        guard let unit = Self.units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
        let digits = text.dropLast(unit.suffix.count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }), let count = Int64(digits) else {
            return nil
        }
        let (milliseconds, overflow) = count.multipliedReportingOverflow(by: unit.milliseconds)
        guard !overflow else { return nil }
        duration = .milliseconds(milliseconds)
    }

    /// In the largest unit that shows it exactly.
    package var description: String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0 else { return "0s" }
        for unit in Self.unitsBySize where milliseconds % unit.milliseconds == 0 {
            return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
        }
        return "\(milliseconds)ms"
    }

    /// `ms` before `s` and `m`, whose letters it shares.
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let unitsBySize = units.reversed()
}

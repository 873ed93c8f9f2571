import SyncModel

/// A duration in text form: a whole number and a unit, such as `500ms`, `30s`, `5m`, `2h`, or `1d`.
package struct DurationText: Hashable, Sendable, CustomStringConvertible {
    package let duration: Duration

    package init(_ duration: Duration) {
        self.duration = duration
    }

    /// Parses a text; nil when it has no unit or no whole number, or when the duration overflows.
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

    /// The duration in the largest unit that gives a whole number. A fraction of a millisecond is dropped.
    package var description: String {
        let milliseconds = duration.wholeMilliseconds
        guard milliseconds != 0 else { return "0s" }
        for unit in Self.unitsBySize where milliseconds % unit.milliseconds == 0 {
            return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
        }
        return "\(milliseconds)ms"
    }

    /// The units, in ascending order. `ms` must come before `s`, because the parser takes the first unit with which
    /// the text ends.
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let unitsBySize = units.reversed()
}

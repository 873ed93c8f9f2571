import FoundationEssentials
package import SyncModel

// The text of dates in ISO 8601, such as `2026-12-01T10:00:00Z`. A field stores them as whole microseconds since 1970
// (UTC).
extension FieldSchema {
    /// Returns a date as text in UTC; nil if the field has no dates, the value is null, or its year is not in
    /// 1583...9999.
    package func dateText(_ value: FieldValue) -> String? {
        guard isDate, case .integer(let microseconds) = value, Self.writableDates.contains(microseconds) else {
            return nil
        }
        let fraction = ((microseconds % 1_000_000) + 1_000_000) % 1_000_000
        let seconds = (microseconds - fraction) / 1_000_000
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        guard fraction > 0 else { return text }
        var digits = String(String(1_000_000 + fraction).dropFirst())
        while digits.hasSuffix("0") { digits.removeLast() }
        return text.dropLast() + ".\(digits)Z"
    }

    /// Returns the value of a text; nil if the field has no dates, or the text is not a date.
    ///
    /// The text is a day, which begins at midnight in UTC, or a day and a time with its zone, or the stored number. A
    /// number of few digits is more likely a date in another form, such as `20261201`.
    package func date(_ text: String) -> FieldValue? {
        guard isDate else { return nil }
        if let number = Int64(text) { return number == 0 || text.utf8.count > 8 ? .integer(number) : nil }
        let separator = text.utf8.firstIndex { byte in "Tt ".utf8.contains(byte) }
        guard let day = Self.day(text[..<(separator ?? text.endIndex)]) else { return nil }
        guard Self.writableDates.contains(day) else { return nil }
        guard let separator else { return .integer(day) }
        guard let time = Self.time(text[text.utf8.index(after: separator)...]),
            Self.writableDates.contains(day + time)
        else { return nil }
        return .integer(day + time)
    }

    /// From 1583-01-01, because Foundation writes days before 1582-10-15 in the Julian calendar, to the end of
    /// 9999-12-31.
    private static let writableDates = -12_212_553_600_000_000...253_402_300_799_999_999 as ClosedRange<Int64>

    /// Returns the microseconds from 1970 to the beginning of a day such as `2026-12-01`.
    private static func day(_ text: Substring) -> Int64? {
        let style = Date.ISO8601FormatStyle().year().month().day()
        // The text must come back: the style accepts days that do not exist.
        guard text.utf8.count == 10, let day = try? style.parse(String(text)), day.formatted(style) == text else {
            return nil
        }
        return Int64(day.timeIntervalSince1970) * 1_000_000
    }

    /// Returns the microseconds from midnight in UTC to a time with its zone, such as `10:00:00.5+02:00` or `08:00Z`.
    private static func time(_ text: Substring) -> Int64? {
        guard let sign = text.utf8.lastIndex(where: { "Zz+-".utf8.contains($0) }) else { return nil }
        let zone = text[text.utf8.index(after: sign)...]
        guard let clock = clock(text[..<sign]) else { return nil }
        switch text[sign] {
        case "Z", "z": return zone.isEmpty ? clock : nil
        case "+": return Self.offset(zone).map { clock - $0 }
        default: return Self.offset(zone).map { clock + $0 }
        }
    }

    private static func offset(_ zone: Substring) -> Int64? {
        zone.utf8.count == 5 ? clock(zone) : nil
    }

    private static func clock(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let hours = number(parts[0], 2, below: 24),
            let minutes = number(parts[1], 2, below: 60)
        else { return nil }
        var time = (hours * 60 + minutes) * 60_000_000
        guard parts.count == 3 else { return time }
        let seconds = parts[2].split(separator: ".", omittingEmptySubsequences: false)
        guard seconds.count <= 2, let whole = number(seconds[0], 2, below: 60) else { return nil }
        time += whole * 1_000_000
        guard seconds.count == 2 else { return time }
        // A field has microseconds. Further digits are cut off.
        let (all, digits) = (seconds[1], seconds[1].prefix(6))
        guard all.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let fraction = number(digits, digits.utf8.count, below: 1_000_000)
        else { return nil }
        return (digits.utf8.count..<6).reduce(fraction) { fraction, _ in fraction * 10 } + time
    }

    /// Returns a number of exactly `digits` digits.
    private static func number(_ text: Substring, _ digits: Int, below bound: Int64) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
            let number = Int64(text), number < bound
        else { return nil }
        return number
    }
}

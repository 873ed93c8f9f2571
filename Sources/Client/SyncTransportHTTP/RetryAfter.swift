import SyncModel

/// The pause that a server requests: whole seconds, or a date (RFC 9110 §10.2.3).
enum RetryAfter {
    /// Returns the pause, or nil when the text is neither form. A date in the past is zero; the maximum is one day.
    static func duration(_ text: some StringProtocol, now: WallTime) -> Duration? {
        let limit = HTTPTransportLimits.retryAfter
        if !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            guard let seconds = Int64(text) else { return limit }
            return min(.seconds(seconds), limit)
        }
        guard let date = HTTPDate.milliseconds(text) else { return nil }
        return min(max(.milliseconds(date - now.milliseconds), .zero), limit)
    }
}

/// A date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that HTTP still generates (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the milliseconds since 1970, or nil for any other form.
    static func milliseconds(_ text: some StringProtocol) -> Int64? {
        let words = String(text).split(separator: " " as Character, omittingEmptySubsequences: false).map(String.init)
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = number(words[1], digits: 2, in: 1...31), let month = months.firstIndex(of: words[2]),
            let year = number(words[3], digits: 4, in: 1970...9999)
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard time.count == 3, let hour = number(time[0], digits: 2, in: 0...23),
            let minute = number(time[1], digits: 2, in: 0...59), let second = number(time[2], digits: 2, in: 0...60)
        else { return nil }
        return ((days(year, Int64(month) + 1, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1_000
    }

    private static func number(_ text: String, digits: Int, in range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let value = Int64(text), range.contains(value)
        else { return nil }
        return value
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that begin in March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

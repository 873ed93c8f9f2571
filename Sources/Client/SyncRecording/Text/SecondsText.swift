/// Durations as decimal seconds, such as `0.25`, exact to the attosecond.
enum SecondsText {
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        var text = duration < .zero ? "-" : ""
        text += String(seconds.magnitude)
        guard attoseconds != 0 else { return text }
        let digits = String(attoseconds.magnitude)
        var fraction = String(repeating: "0", count: 18 - digits.count) + digits
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return text + "." + fraction
    }

    /// Returns the duration, or nil when the text is not such a number or is out of bounds.
    static func duration(_ text: String) -> Duration? {
        let isNegative = text.hasPrefix("-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let seconds = digits(parts[0]),
            seconds < RecordingBounds.longestDuration
        else { return nil }
        var attoseconds: Int64 = 0
        if parts.count == 2 {
            guard parts[1].utf8.count <= 18, let fraction = digits(parts[1]) else { return nil }
            attoseconds = fraction
            for _ in parts[1].utf8.count..<18 { attoseconds *= 10 }
        }
        let duration = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
        return isNegative ? .zero - duration : duration
    }

    private static func digits(_ text: Substring) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }
}

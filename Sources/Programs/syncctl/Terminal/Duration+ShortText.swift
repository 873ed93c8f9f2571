import SyncModel

extension Duration {
    /// The duration for people, such as `400 ms` or `2 min 10 s`.
    var shortText: String {
        let milliseconds = wholeMilliseconds
        if milliseconds < 1_000 { return "\(milliseconds) ms" }
        if milliseconds < 60_000 { return "\(milliseconds / 1_000).\(milliseconds % 1_000 / 100) s" }
        let minutes = milliseconds / 60_000
        if minutes < 60 { return "\(minutes) min \(milliseconds % 60_000 / 1_000) s" }
        let hours = minutes / 60
        if hours < 48 { return "\(hours) h \(minutes % 60) min" }
        return "\(hours / 24) days \(hours % 24) h"
    }
}

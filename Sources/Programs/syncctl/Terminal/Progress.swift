import SyncConcurrency
import SyncCore
import SyncModel
import SyncProgram

/// Shows the progress of a command that takes longer than a second, on a terminal only.
final class Progress: Sendable {
    private struct State {
        var lastDrawn: Duration?
        var isDrawn = false
    }

    private let terminal: Terminal
    private let uptime: @Sendable () -> Duration
    private let started: Duration
    private let state = Guarded(State())

    init(_ terminal: Terminal, uptime: @escaping @Sendable () -> Duration) {
        self.terminal = terminal
        self.uptime = uptime
        started = uptime()
    }

    var elapsed: Duration { uptime() - started }

    /// Shows the current step.
    ///
    /// - Parameter text: the text to show. It is escaped here.
    func show(_ text: String) {
        let now = uptime()
        let isDue = state.withLock { state in
            guard now - started > .seconds(1), now - (state.lastDrawn ?? .zero) > .milliseconds(100) else {
                return false
            }
            state.lastDrawn = now
            state.isDrawn = true
            return true
        }
        if isDue { terminal.draw(Self.line(text)) }
    }

    /// Returns the terminal output that replaces the previous line. The text is escaped, then cut to the width of a
    /// terminal.
    static func line(_ text: String) -> TerminalText {
        "\r\u{1B}[K\(TerminalText.truncated(TerminalText.escaped(text), to: 78))"
    }

    func show(_ what: String, _ done: Int, of total: Int) {
        let percent = total > 0 ? done * 100 / total : 100
        show("\(what) \(done) of \(total) (\(percent)%)")
    }

    /// Clears the line.
    func finish() {
        let wasDrawn = state.withLock { state in
            defer { state.isDrawn = false }
            return state.isDrawn
        }
        if wasDrawn { terminal.draw("\r\u{1B}[K") }
    }
}

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

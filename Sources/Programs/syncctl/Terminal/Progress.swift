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

    /// Returns the terminal output that replaces the previous line. The text is escaped, then cut to 78 columns.
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

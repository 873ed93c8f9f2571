import Glibc
import SyncProgram

/// The output of a command: results on standard output, everything else on standard error.
struct Terminal: Sendable {
    let isJSON: Bool
    /// Whether standard output is a terminal that supports colors.
    let hasColour: Bool
    let outputIsTerminal: Bool
    let errorsAreTerminal: Bool
    /// The width of the terminal in columns.
    let width: Int

    init(isJSON: Bool, variables: [String: String]) {
        self.isJSON = isJSON
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        errorsAreTerminal = isatty(STDERR_FILENO) == 1
        let forbidsColour = !(variables["NO_COLOR"] ?? "").isEmpty || variables["TERM"] == "dumb"
        hasColour = outputIsTerminal && !forbidsColour && !isJSON
        width = outputIsTerminal ? Self.columns(STDOUT_FILENO) : Int.max
    }

    private static func columns(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Prints a line of the result. If it cannot be written, the process exits, because a partial result is useless.
    func say(_ line: TerminalText) {
        let failure = ProgramOutput.answer("\(line)\n")
        Self.check(failure)
        if let failure {
            note("syncctl: the answer cannot be written: \(String(cString: strerror(failure)))")
            exit(CommandStatus.machine.rawValue)
        }
    }

    /// Prints a result for scripts.
    func say(_ line: JSONLine) {
        say(TerminalText(json: line.text))
    }

    /// Prints a line on standard error, which scripts do not read.
    func note(_ line: TerminalText) {
        Self.check(ProgramOutput.note("\(line)\n"))
    }

    /// Prints text that later output overwrites. Does nothing unless standard error is a terminal.
    func draw(_ text: TerminalText) {
        guard errorsAreTerminal else { return }
        Self.check(ProgramOutput.note(text))
    }

    func bold(_ text: TerminalText) -> TerminalText { hasColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    func dim(_ text: TerminalText) -> TerminalText { hasColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    func green(_ text: TerminalText) -> TerminalText { hasColour ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
    func red(_ text: TerminalText) -> TerminalText { hasColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }

    /// Exits quietly when the reader has closed the pipe (`| head`), as other programs do.
    private static func check(_ failure: Int32?) {
        if failure == EPIPE { exit(ProgramOutput.brokenPipeStatus) }
    }
}

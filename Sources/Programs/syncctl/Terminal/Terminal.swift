import Glibc
import SyncProgram

/// The output of a command: results on standard output, everything else on standard error.
struct Terminal: Sendable {
    let isJSON: Bool
    /// Whether standard output is a terminal that supports colors.
    let hasColor: Bool
    let outputIsTerminal: Bool
    let errorsAreTerminal: Bool
    /// The width of the terminal in columns; `Int.max` if standard output is not a terminal.
    let width: Int

    init(isJSON: Bool, variables: [String: String]) {
        self.isJSON = isJSON
        outputIsTerminal = isatty(STDOUT_FILENO) == 1
        errorsAreTerminal = isatty(STDERR_FILENO) == 1
        let forbidsColor = !(variables["NO_COLOR"] ?? "").isEmpty || variables["TERM"] == "dumb"
        hasColor = outputIsTerminal && !forbidsColor && !isJSON
        width = outputIsTerminal ? Self.columns(STDOUT_FILENO) : Int.max
    }

    private static func columns(_ descriptor: Int32) -> Int {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }

    /// Prints a line of the result. If it cannot be written, the process exits, because a partial result is useless.
    ///
    /// - Parameter effect: what the command has done, for the message if the line cannot be written, such as
    ///   `Terminal.saved`; nil if it has changed nothing.
    func say(_ line: TerminalText, after effect: String? = nil) {
        let failure = ProgramOutput.write("\(line)\n")
        Self.check(failure)
        if let failure {
            let done = effect.map { "\($0), but " } ?? ""
            note("syncctl: \(done)the output cannot be written: \(String(cString: strerror(failure)))")
            exit(CommandExitStatus.machine.rawValue)
        }
    }

    /// Prints a line of the result for scripts.
    func say(_ line: JSONLine, after effect: String? = nil) {
        say(TerminalText(json: line.text), after: effect)
    }

    /// The effect of a command whose changes are in the database.
    static let saved = "the change was saved"

    /// Prints a line on standard error, which scripts do not read.
    func note(_ line: TerminalText) {
        Self.check(ProgramOutput.note("\(line)\n"))
    }

    /// Prints text that later output overwrites. Does nothing unless standard error is a terminal.
    func draw(_ text: TerminalText) {
        guard errorsAreTerminal else { return }
        Self.check(ProgramOutput.note(text))
    }

    func bold(_ text: TerminalText) -> TerminalText { hasColor ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    func dim(_ text: TerminalText) -> TerminalText { hasColor ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    func green(_ text: TerminalText) -> TerminalText { hasColor ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
    func red(_ text: TerminalText) -> TerminalText { hasColor ? "\u{1B}[31m\(text)\u{1B}[0m" : text }

    /// Exits quietly when the reader has closed the pipe (`| head`), as other programs do.
    private static func check(_ failure: Int32?) {
        if failure == EPIPE { exit(ProgramOutput.brokenPipeStatus) }
    }
}

import Glibc
import SyncConcurrency

/// Where a command writes: answers to standard output, everything about them to standard error.
struct Terminal: Sendable {
    let isJSON: Bool
    /// Whether standard output is a terminal that takes colours.
    let hasColour: Bool
    let outputIsTerminal: Bool
    let errorsAreTerminal: Bool
    /// Columns of the terminal.
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

    /// A line of the answer.
    func say(_ line: String) {
        Self.write(line + "\n", to: STDOUT_FILENO)
    }

    /// A line about the answer: what a script does not want to read.
    func note(_ line: String) {
        Self.write(line + "\n", to: STDERR_FILENO)
    }

    /// Text that is written over: only to a terminal.
    func draw(_ text: String) {
        guard errorsAreTerminal else { return }
        Self.write(text, to: STDERR_FILENO)
    }

    func bold(_ text: String) -> String { hasColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }
    func dim(_ text: String) -> String { hasColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    func green(_ text: String) -> String { hasColour ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
    func red(_ text: String) -> String { hasColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }

    /// Writes all bytes. When the reader has gone (`| head`), the program ends quietly, as others do.
    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EPIPE { exit(CommandStatus.brokenPipe) }
                return
            }
            bytes = bytes.dropFirst(count)
        }
    }
}

public import Logging
import SyncRuntimeLive

/// The log of a program: lines on standard error. Libraries are given a logger and never make one.
public enum ProgramLog {
    public static func logger(label: String, level: LogLevel) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler(label: $0, stream: LogStream(sink: .standardError)) }
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .warning
        return logger
    }
}

/// Writes each log entry as one line. Messages and metadata may contain text of servers and clients, which can neither begin a
/// line that the program did not write nor reach the terminal with control characters.
struct LogStream: TextOutputStream, Sendable {
    let sink: ByteSink

    /// - Parameter entry: one whole log entry with its final line break, as the handler formats it.
    func write(_ entry: String) {
        let line = entry.hasSuffix("\n") ? String(entry.dropLast()) : entry
        sink.write(TerminalText.escaped(line) + "\n")
    }
}

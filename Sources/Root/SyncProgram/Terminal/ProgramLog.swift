public import Logging
import SyncRuntimeLive

/// Creates loggers that write to standard error. Programs and `Client` use it; other targets receive a logger.
public enum ProgramLog {
    /// Returns a logger that writes one line per entry, and drops entries below `level`.
    public static func logger(label: String, level: LogLevel) -> Logger {
        var logger = Logger(label: label) { StreamLogHandler(label: $0, stream: LogStream(sink: .standardError)) }
        logger.logLevel = Logger.Level(rawValue: level.rawValue) ?? .warning
        return logger
    }
}

/// Writes each log entry as one line.
///
/// Messages and metadata may contain text from servers and clients. Escaping keeps that text from starting a line of
/// its own, and from sending control characters to the terminal.
struct LogStream: TextOutputStream, Sendable {
    let sink: ByteSink

    /// - Parameter entry: one whole log entry with its final line break, as the handler formats it.
    func write(_ entry: String) {
        let line = entry.hasSuffix("\n") ? String(entry.dropLast()) : entry
        sink.write(TerminalText.escaped(line) + "\n")
    }
}

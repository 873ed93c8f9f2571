import Glibc
public import Logging
import SyncConcurrency
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
/// A program must not wait for the reader of its log. While nobody reads, entries are dropped, and the next entry that
/// is written follows their number.
///
/// Messages and metadata may contain text from servers and clients. Escaping keeps that text from starting a line of
/// its own, and from sending control characters to the terminal.
final class LogStream: TextOutputStream, Sendable {
    private let sink: ByteSink
    /// The entries that were dropped since the last one that was written.
    private let dropped = Guarded(Dropped())

    private struct Dropped: Sendable {
        var count = 0
        /// Whether a part of an entry was written.
        var hasPart = false
    }

    /// How long an entry waits for the reader. While entries are dropped, none waits.
    private static let readerTimeout = Duration.milliseconds(100)

    init(sink: ByteSink) {
        self.sink = sink
    }

    /// - Parameter entry: one whole log entry with its final line break, as the handler formats it.
    func write(_ entry: String) {
        let line = TerminalText.escaped(entry.hasSuffix("\n") ? String(entry.dropLast()) : entry) + "\n"
        dropped.withLock { dropped in
            if dropped.count > 0 {
                let note = "\(dropped.hasPart ? "\n" : "")\(dropped.count) log entries were dropped: nobody read them\n"
                guard sink.write(note, within: .zero) == nil else {
                    dropped.count += 1
                    return
                }
                dropped = Dropped()
            }
            if sink.write(line, within: Self.readerTimeout) == EAGAIN {
                dropped = Dropped(count: 1, hasPart: line.utf8.count > ByteSink.atomicBytes)
            }
        }
    }
}
